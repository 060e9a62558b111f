"""The report as a page: what a reader does with it in a browser, and what it says without one."""

import shutil
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from suite_records import over_capacity, record, write

from suite.bench.cell import Cell
from suite.bench.load_problem import kept_graph
from suite.bench.record import write_record
from suite.capture.cache import graph_path
from suite.cli import main
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.formats.graph_npz import save_graph
from suite.formats.machine_toml import load_machine, machine_path
from suite.formats.measured_costs import write_op_times
from suite.report.build import build_table
from suite.report.load_records import load_published, load_records
from suite.report.page.charts import COLOURS, SHAPES, look
from suite.report.page.placements import BINS, coded, placements, positions
from suite.report.page.tables import sort_value
from suite.report.page.write_page import DRAWINGS, _fitting, _in_order, write_page
from suite.report.recorded import recorded
from suite.report.table import PrintedCell

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH")
NAMES = ("encoder/layer_0/step_0/MatMul", "decoder/layer_0/step_1/MatMul", "gradients/AddN")
NMT_4 = OpGraph.create(
    "nmt_4",
    NAMES,
    ["Op"] * 3,
    [0, 1],
    [(0, 1), (1, 2)],
    seconds={"cpu": [3.0, 1.0, 4.0], "gpu": [1.0, 1.0, 2.0]},
)
DEVICES = np.array([1, 2, 0], np.int32)


def write_results(results):
    """Records of NMT (4-layer) and Inception-V3, the fastest HDP with its placement."""
    history = [[1, 0.1, 3.0], [10, 0.5, 2.0], [40, 2.0, 1.5]]
    write(
        results,
        *(record("inception_v3", "random", 0.4 + 0.1 * seed, seed) for seed in range(3)),
        record("inception_v3", "cpu_only", 0.6283),
        record("inception_v3", "metis", 0.09),
        record("inception_v3", "gpu_only", 1.0, **over_capacity("inception_v3")),
        record("nmt_4", "cpu_only", 5.0),
        record("nmt_4", "human_expert", 2.5),
        *(
            record("nmt_4", "hdp", 1.6 + seed, seed, grid="reference", history=history)
            for seed in (1, 2)
        ),
    )
    made = record("nmt_4", "hdp", 1.5, 0, grid="reference", history=history, evaluations=50)
    made |= {"graph": made["graph"] | {"fingerprint": NMT_4.fingerprint}}
    write_record(made, DEVICES, Cell(**made["cell"]).path(results))
    save_graph(NMT_4, kept_graph(results / "reference", "nmt_4", NMT_4.fingerprint))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with results and the page made of them."""
    folder = tmp_path_factory.mktemp("page")
    results = folder / "results"
    write_results(results)
    (folder / "reports").mkdir()
    tables = {"hdp_table1": build_table("hdp_table1", results)}
    everything = load_records(results), load_published(), results
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLACEBENCH_CACHE", str(folder / "cache"))
        write_page(folder / "reports/report.html", tables, *everything)
    return folder


def arguments(folder):
    return ["--results", str(folder / "results"), "--output", str(folder / "reports")]


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser, folder):
    """The page, open and drawn; afterwards it must have loaded nothing and have no complaints."""
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.goto((folder / "reports/report.html").as_uri())
    page.wait_for_selector("html[data-ready]")
    yield page
    assert asked == [(folder / "reports/report.html").as_uri()]
    assert complaints == []
    page.close()


def main_table(page):
    """Table 1's first section, unfolded."""
    page.locator("#hdp_table1 > summary").click()
    return page.locator("#hdp_table1 table").first


def firsts(table):
    return [text.strip() for text in table.locator("tbody th").all_inner_texts()]


def points(page, chart):
    """What a screen reader hears of a plot's points."""
    marks = page.locator(f"#{chart} .mark-symbol path, #{chart} .mark-symbol a")
    found = [mark.get_attribute("aria-label") for mark in marks.all()]
    return [text for text in found if text]


def show(page, label):
    page.select_option("#row", label=label)
    page.wait_for_function("document.querySelector('#placement-facts').textContent !== ''")
    page.wait_for_timeout(300)


@needs_browser
def test_a_head_sorts_numbers_as_numbers_and_words_last(page):
    table = main_table(page)
    head = table.locator("thead th", has_text="CPU Only")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert firsts(table)[:2] == ["Inception-V3", "NMT (4-layer)"]
    head.locator("button").press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert firsts(table)[:2] == ["NMT (4-layer)", "Inception-V3"]
    assert "missing" in table.locator("tbody tr").last.inner_text()


@needs_browser
def test_a_filter_keeps_the_rows_with_all_its_words(page):
    section = page.locator("#records-title + p + .filter")
    section.locator("input").fill("inception random")
    table = page.locator("#records")
    assert table.locator("tbody tr").count() == 3
    assert section.locator(".count").inner_text() == "3 of 11 rows"
    section.locator("input").fill("no such words")
    assert table.locator("tbody tr").count() == 0


@needs_browser
def test_a_cell_says_what_is_behind_it_by_mouse_and_by_keyboard(page):
    cell = main_table(page).locator("td", has_text="0.63").first
    cell.hover()
    said = page.locator("#tip").inner_text()
    assert said.splitlines() == ["ours: 0.6283 s", "published: 0.61", "ours / published: 1.03"]
    page.mouse.move(0, 0)
    cell.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#tip").inner_text().startswith("ours: 1 OOM")


@needs_browser
def test_every_valid_seed_is_a_point_that_opens_its_record(page, folder):
    show(page, "Inception-V3, 2 GPUs")
    ours = [text for text in points(page, "steps") if "seed: " in text]
    assert len(ours) == 5
    assert sum("placer: Random;" in text for text in ours) == 3
    assert any("published, s: 0.61" in text and "ours / published: 1.03" in text for text in ours)
    assert "GPU Only (oom)" in page.locator("#steps-lost").inner_text()
    metis = page.locator("#steps path[aria-label*='placer: METIS;']")
    with page.expect_popup() as opened:
        metis.click()
    opened.value.wait_for_load_state()
    path = folder / "results/quick/k40/2gpu/inception_v3/metis/seed0.json"
    assert opened.value.url == path.as_uri()
    assert opened.value.inner_text("body").strip().startswith("{")


@needs_browser
def test_pointing_at_a_published_value_shows_it_and_our_ratio(page):
    show(page, "Inception-V3, 2 GPUs")
    page.locator("#steps path[aria-label*='placer: CPU Only;'][fill='transparent']").hover()
    tip = page.locator("#vg-tooltip-element.visible")
    rows = [row.split("\t") for row in tip.inner_text().splitlines()]
    shown = {name.strip(): value.strip() for name, value in rows}
    assert shown == {"placer": "CPU Only", "published, s": "0.61", "ours / published": "1.03"}
    page.mouse.move(0, 0)
    page.wait_for_selector("#vg-tooltip-element", state="hidden")


@needs_browser
def test_by_keyboard_every_point_is_reached_and_opens_its_record(page, folder):
    show(page, "Inception-V3, 2 GPUs")
    page.locator("#steps path[tabindex='0']").focus()
    seen = set()
    for line in range(4):
        for key in ("ArrowRight", "ArrowLeft"):
            for before in ["ArrowUp"] * 4 + ["ArrowDown"] * line:
                page.keyboard.press(before)
            for _ in range(3):
                seen.add(page.locator("#tip").inner_text())
                page.keyboard.press(key)
    assert len(seen) == len(set(points(page, "steps")))
    assert page.locator("#steps [tabindex='0']").count() == 1
    page.locator("#steps path[aria-label*='placer: METIS;']").focus()
    assert "step time / lower bound" in page.locator("#tip").inner_text()
    with page.expect_popup() as opened:
        page.keyboard.press("Enter")
    path = folder / "results/quick/k40/2gpu/inception_v3/metis/seed0.json"
    opened.value.wait_for_url(path.as_uri())
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()


@needs_browser
def test_a_placer_that_is_switched_off_leaves_every_plot(page):
    show(page, "NMT (4-layer), 4 GPUs")
    lines = page.locator("#search .mark-line path")
    assert lines.count() == 3
    page.locator("#placers-box summary").click()
    page.get_by_role("checkbox", name="Hierarchical Planner").press("Space")
    page.wait_for_selector("#search-empty:visible")
    assert page.locator("#placers-count").inner_text() == "2 of 3 on"
    for chart in ("steps", "quality"):
        assert not any("Hierarchical" in text for text in points(page, chart))
    page.get_by_role("button", name="All on").click()
    page.wait_for_selector("#quality path[aria-label*='Hierarchical']")


@needs_browser
def test_searches_are_drawn_against_seconds_too(page):
    show(page, "NMT (4-layer), 4 GPUs")
    page.get_by_label("seconds", exact=True).check()
    page.wait_for_selector("#search text:text-is('seconds of search')")
    assert page.locator("#search .mark-line path").count() == 3


@needs_browser
def test_a_placement_shows_its_map_its_layers_and_its_time_line(page):
    show(page, "NMT (4-layer), 4 GPUs")
    assert "1.5 s a step" in page.locator("#placement-facts").inner_text()
    assert page.locator("#layers .mark-rect path").count() == 2
    shares = page.locator("#map .mark-rect path").evaluate_all(
        "all => all.map(path => path.getAttribute('aria-label'))"
    )
    assert any("device: gpu:0" in text and "share of the work: 100%" in text for text in shares)
    strips = page.locator("#busy .mark-rect path[aria-label*='share of time busy: 20%']")
    assert strips.count() == 5


@needs_browser
def test_on_a_phone_nothing_is_wider_than_the_screen(browser, folder):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto((folder / "reports/report.html").as_uri())
    page.wait_for_selector("html[data-ready]")
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.close()


def test_the_page_is_small_and_says_what_is_in_it(folder):
    content = (folder / "reports/report.html").read_bytes()
    assert len(content) < 3_000_000
    assert "can be drawn, the fastest seed of every placer" in content.decode()


def test_drawings_have_room_of_their_own_and_come_in_the_order_of_readers():
    records = pd.DataFrame({"grid": ["annealing_parts", "reference", "quick", "post"]})
    drawn = {str(number): {"line": "x" * (DRAWINGS // 3)} for number in range(4)}
    assert _in_order(drawn, records) == ["2", "1", "0", "3"]
    kept = _fitting({number: drawn[number] for number in _in_order(drawn, records)}, DRAWINGS)
    assert [*kept] == ["2", "1"]


def test_the_command_writes_the_page_beside_the_tables(tmp_path, capsys):
    write(tmp_path / "results", record("nmt_2", "post", 0.5, grid="post"))
    assert main(["report", "--html", *arguments(tmp_path)]) == 0
    page = tmp_path / "reports/report.html"
    assert f"wrote {page}" in capsys.readouterr().out
    assert 'id="post_claims"' in page.read_text("utf-8")


def test_without_its_libraries_one_line_says_what_to_install(tmp_path, monkeypatch, capsys):
    write(tmp_path / "results", record("inception_v3", "cpu_only", 0.6283))
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert main(["report", "--html", *arguments(tmp_path)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "vl_convert" in line
    assert "pip install 'placebench[html]'" in line
    assert not (tmp_path / "reports").exists()


def test_an_operation_is_where_it_could_start_at_the_earliest():
    problem = Problem.create(NMT_4, load_machine("k40").with_gpus(4))
    assert positions(problem).tolist() == [0, BINS // 4, BINS // 2]


def test_the_fastest_seed_of_a_placer_is_the_one_drawn(folder, monkeypatch):
    monkeypatch.setenv("PLACEBENCH_CACHE", str(folder / "cache"))
    records = load_records(folder / "results")
    drawn, missing = placements(records)
    of_hdp = {n: one for n, one in drawn.items() if records.loc[int(n), "placer"] == "hdp"}
    assert [records.loc[int(n), "seed"] for n in of_hdp] == [0]
    assert all("map" in one for one in of_hdp.values())
    assert "`placebench graph inception_v3` captures it" in missing["inception_v3"]


def test_a_placement_on_a_profiled_host_is_drawn_with_its_measured_times(tmp_path, monkeypatch):
    """Also where that host is not known: the machine is beside the records, the graph cached."""
    monkeypatch.setenv("PLACEBENCH_CACHE", str(tmp_path / "cache"))
    save_graph(NMT_4, graph_path("nmt_4"))
    seconds = {"cpu": np.array([1.0, 2.0, 3.0]), "gpu": np.array([4.0, 5.0, 6.0])}
    made = record("nmt_4", "hdp", 1.5)
    made["cell"]["machine"] = "my_host"
    made["graph"]["fingerprint"] = replace(NMT_4, seconds=seconds).fingerprint
    path = Cell(**made["cell"]).path(tmp_path / "results")
    write_record(made, DEVICES, path)
    kept = path.parents[3] / "machine.toml"
    text = machine_path("k40").read_text().replace('name = "k40"', 'name = "my_host"')
    kept.write_text('op_times = "my_host-ops"\n' + text)
    write_op_times(NMT_4, seconds, path.parents[3] / "my_host-ops", "nmt_4")
    problem, devices = recorded(load_records(tmp_path / "results").iloc[0])
    assert problem.machine.name == "my_host"
    assert problem.graph.seconds["gpu"].tolist() == [4.0, 5.0, 6.0]
    assert devices.tolist() == DEVICES.tolist()


@pytest.mark.parametrize(
    ("shares", "text"),
    [([0, 0, 0], "a3"), ([1, 0.5, 0.5, 0.04], "kf2a"), ([0.96], "k")],
)
def test_shares_are_written_in_tenths_with_repeats(shares, text):
    assert coded(np.array(shares, np.float64)) == text


@pytest.mark.parametrize(
    ("cell", "value"),
    [("**1.25** (2.13, x0.59)", 1.25), ("12,345", 12345.0), ("-4.5%", -4.5), ("x1.10 b", 1.1)],
)
def test_a_printed_cell_is_sorted_by_the_number_in_front(cell, value):
    assert sort_value(cell) == value


def test_a_cell_that_knows_its_number_is_sorted_by_that():
    assert sort_value(PrintedCell("about 3", 2.75) + " f") == 2.75
    assert np.isnan(sort_value("OOM"))


def test_no_two_placers_look_alike():
    count = len(COLOURS) * len(SHAPES)
    assert len({tuple(one.values()) for one in look(count)}) == count
