"""The page's plots as Vega-Lite specifications; the page's script gives them their rows."""

from __future__ import annotations

from collections.abc import Sequence

from suite.report.page.records import Value

Spec = dict[str, Value]
COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#c2458a", "#a0662f", "#8262c4"),
    *("#a87d00", "#3a87a8", "#6b8e23", "#c8443a", "#6b7280"),
)
"""Of placers, in turn; each has a contrast of 3 or more to the light and the dark background."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
"""Of placers: another one from each round of colours to the next, and within it."""
DEVICES = (
    *("#8a909c", "#0072b2", "#e69f00", "#009e73", "#cc79a7"),
    *("#56b4e9", "#d55e00", "#d9cc30", "#5b3a8e", "#7f4f24"),
)
"""Of devices, the CPU's first (Okabe and Ito 2008, and more)."""
GREY = "#7d8694"
"""Of lines that are no placer's; readable on both backgrounds."""
WHOSE: list[Value] = [
    {"field": "label", "title": "placer"},
    {"field": "seed", "title": "seed"},
    {"field": "grid", "title": "grid"},
]


def charts(placers: Sequence[str]) -> dict[str, Spec]:
    """Name -> specification of every plot; ``placers`` are all that may appear, in their order.

    Each reads the data set ``rows``; those with levels (bound, expert, published) ``levels`` too.
    """
    return {
        "steps": _steps(placers),
        "search": _search(placers),
        "quality": _quality(placers),
        "map": _strips("position in the graph (start to end of the step)", "share of the work"),
        "layers": _layers(),
        "busy": _strips("seconds since the step began", "share of time busy"),
    }


def look(count: int) -> list[dict[str, str]]:
    """Colour and shape of so many placers, no two alike up to one for each pair of the two."""
    rounds = len(COLOURS)
    return [
        {"colour": COLOURS[i % rounds], "shape": SHAPES[(i + 2 * (i // rounds)) % len(SHAPES)]}
        for i in range(count)
    ]


def _chart(title: str, layers: list[Value], **more: Value) -> Spec:
    """A plot as wide as its place; ``title`` is what a screen reader says."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": title,
        "width": "container",
        "autosize": {"type": "fit-x", "contains": "padding"},
        "layer": layers,
        **more,
    }


def _of_placer(placers: Sequence[str], part: str) -> dict[str, Value]:
    """The encoding of a placer's ``colour`` or ``shape``."""
    looks: list[Value] = [one[part] for one in look(len(placers))]
    scale: dict[str, Value] = {"domain": list(placers), "range": looks}
    # Screen readers hear titles: the tooltip's "placer" is what people call it.
    name: dict[str, Value] = {"field": "placer", "title": "on the command line"}
    return {**name, "type": "nominal", "scale": scale, "legend": None}


def _axis(field: str, title: str) -> dict[str, Value]:
    """A logarithmic axis with numbers as people write them."""
    scale: dict[str, Value] = {"type": "log", "nice": False, "padding": 12}
    axis: dict[str, Value] = {"labelOverlap": "greedy", "labelFlush": False, "tickCount": 6}
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": scale,
        "axis": {**axis, "format": "~r"},
    }


def _levels(channel: str, named: bool) -> list[Value]:
    """Dashed rules across a plot: what the answers are measured against, with their names."""
    tip: list[Value] = [{"field": "what", "title": "line"}, {"field": "text", "title": "seconds"}]
    at: dict[str, Value] = {channel: {"field": "value", "type": "quantitative"}, "tooltip": tip}
    dashes: list[Value] = [5, 4]
    rule: dict[str, Value] = {"type": "rule", "strokeWidth": 1.5, "strokeDash": dashes}
    layers: list[Value] = [
        {"data": {"name": "levels"}, "mark": {**rule, "color": GREY}, "encoding": at}
    ]
    if named:
        text: dict[str, Value] = {"type": "text", "align": "right", "dy": -6, "fontSize": 12}
        right: dict[str, Value] = {"value": "width"}
        names: dict[str, Value] = {**at, "x": right, "text": {"field": "what"}}
        mark: dict[str, Value] = {**text, "color": GREY, "fontWeight": "bold"}
        layers.append({"data": {"name": "levels"}, "mark": mark, "encoding": names})
    return layers


def _steps(placers: Sequence[str]) -> Spec:
    """A line a placer: every seed as a point, the published value as a hollow diamond."""
    tip: list[Value] = [
        *WHOSE,
        {"field": "text", "title": "step time, s"},
        {"field": "printed", "title": "published, s"},
        {"field": "ratio", "title": "ours / published"},
        {"field": "bound_ratio", "title": "step time / lower bound"},
    ]
    y: dict[str, Value] = {
        "field": "label",
        "type": "nominal",
        "title": None,
        "sort": {"field": "order", "op": "min"},
        "axis": {"labelLimit": 150, "grid": True},
    }
    seeds: Spec = {
        "transform": [{"filter": "datum.kind == 'ours'"}],
        "mark": {"type": "point", "filled": True, "size": 55, "opacity": 0.75},
        "encoding": {
            "color": _of_placer(placers, "colour"),
            "shape": _of_placer(placers, "shape"),
            "href": {"field": "link"},
            "tooltip": tip,
        },
    }
    theirs: Spec = {
        "transform": [{"filter": "datum.kind == 'published'"}],
        "mark": {"type": "point", "shape": "diamond", "size": 130, "strokeWidth": 2},
        "encoding": {
            "color": {"value": "#d9822b"},
            "tooltip": [tip[0], *tip[4:6]],
        },
    }
    shared: dict[str, Value] = {"y": y, "x": _axis("value", "step time, s")}
    points: Spec = {"data": {"name": "rows"}, "layer": [theirs, seeds], "encoding": shared}
    title = "Step time of every placer: a point a seed, a diamond the published value"
    return _chart(title, [*_levels("x", named=False), points], height={"step": 19})


def _search(placers: Sequence[str]) -> Spec:
    tip: list[Value] = [
        *WHOSE,
        {"field": "evaluations", "title": "placements evaluated"},
        {"field": "seconds", "title": "seconds of search"},
        {"field": "value", "title": "best step time, s"},
    ]
    lines: Spec = {
        "data": {"name": "rows"},
        "mark": {
            "type": "line",
            "interpolate": "step-after",
            "strokeWidth": 1.6,
            "opacity": 0.85,
            "point": {"size": 22, "opacity": 0.8},
        },
        "encoding": {
            "x": _axis("x", "placements evaluated"),
            "y": _axis("value", "best step time, s"),
            "color": _of_placer(placers, "colour"),
            "detail": {"field": "number"},
            "tooltip": tip,
        },
    }
    title = "Best step time so far of every search: a line a seed"
    return _chart(title, [lines, *_levels("y", named=True)], height=340)


def _quality(placers: Sequence[str]) -> Spec:
    tip: list[Value] = [
        *WHOSE,
        {"field": "text", "title": "step time, s"},
        {"field": "wall", "title": "seconds to place"},
        {"field": "bound_ratio", "title": "step time / lower bound"},
    ]
    points: Spec = {
        "data": {"name": "rows"},
        "mark": {"type": "point", "filled": True, "size": 65, "opacity": 0.75},
        "encoding": {
            "x": _axis("wall", "seconds to place"),
            "y": _axis("bound_ratio", "step time / lower bound"),
            "color": _of_placer(placers, "colour"),
            "shape": _of_placer(placers, "shape"),
            "href": {"field": "link"},
            "tooltip": tip,
        },
    }
    title = "Quality against planning time: a point a seed"
    return _chart(title, [points], height=340)


def _strips(along: str, share: str) -> Spec:
    """A strip a device: the darker, the larger its share of that stretch."""
    scale: dict[str, Value] = {"domain": [0, 1], "scheme": "blues"}
    legend: dict[str, Value] = {"format": ".0%", "orient": "bottom", "gradientLength": 180}
    cells: Spec = {
        "data": {"name": "rows"},
        "mark": {"type": "rect"},
        "encoding": {
            "x": {
                "field": "from",
                "type": "quantitative",
                "title": along,
                "axis": {"grid": False, "format": "~r", "labelOverlap": "greedy"},
                "scale": {"nice": False},
            },
            "x2": {"field": "to"},
            "y": {"field": "device", "type": "nominal", "title": None},
            "color": {
                "field": "share",
                "type": "quantitative",
                "scale": scale,
                "legend": {**legend, "title": share},
            },
            "tooltip": [
                {"field": "device", "title": "device"},
                {"field": "share", "title": share, "format": ".0%"},
                {"field": "span", "title": along.partition(" (")[0]},
            ],
        },
    }
    return _chart(f"Strips of the devices: {share} along {along}", [cells], height={"step": 26})


def _layers() -> Spec:
    """A cell a layer and unrolled step, in the colour of the device that computes most of it."""
    cells: Spec = {
        "data": {"name": "rows"},
        "mark": {"type": "rect", "stroke": "white", "strokeWidth": 0.7},
        "encoding": {
            "x": {
                "field": "step",
                "type": "ordinal",
                "title": "unrolled step",
                "axis": {"labelOverlap": "greedy", "labelAngle": 0},
            },
            "y": {
                "field": "layer",
                "type": "nominal",
                "title": None,
                "sort": {"field": "order", "op": "min"},
                "axis": {"labelLimit": 190},
            },
            "color": {
                "field": "device",
                "type": "nominal",
                "legend": {"orient": "bottom", "title": "computes most of the cell", "columns": 4},
                "scale": {"range": list(DEVICES)},
            },
            "tooltip": [
                {"field": "layer"},
                {"field": "step", "title": "unrolled step"},
                {"field": "device", "title": "computes most"},
            ],
        },
    }
    return _chart("Layers and unrolled steps by device", [cells], height={"step": 17})
