"""What learned placers share around their networks: decisions, rewards, the search loop."""
