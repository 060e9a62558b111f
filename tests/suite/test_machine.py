"""Reading machines, choosing links, naming channels."""

from pathlib import Path

import numpy as np
import pytest

from suite.bench.grid import load_grid
from suite.commands._placer import parameters_of
from suite.core.errors import InputError
from suite.core.units import parse_bytes
from suite.formats.machine_toml import (
    PARTS,
    known_machines,
    load_machine,
    machine_from_table,
    machine_origin,
    machine_path,
    profiles_folder,
)

DEVICE = {"memory": "4 GB", "peak_flops": 1e12, "memory_bandwidth": 1e11, "launch_overhead": 1e-6}


def table(**changes):
    """A machine with one CPU, two GPUs and one default link."""
    devices = [
        {"name": "cpu:0", "kind": "cpu", **DEVICE},
        {"name": "gpu:0", "kind": "gpu", **DEVICE},
        {"name": "gpu:1", "kind": "gpu", **DEVICE},
    ]
    link = {"bandwidth": 1e10, "latency": 1e-5}
    return {"name": "m", "device": devices, "link": [link]} | changes


def test_pair_channels_are_private():
    names, first, second = machine_from_table(table()).channels
    assert len(names) == 6
    assert names[first[1, 2]] == "gpu:0->gpu:1"
    assert (second == -1).all()


def test_copy_engines_hold_a_sender_and_a_receiver():
    link = {"bandwidth": 1e10, "latency": 0, "channel": "copy-engines"}
    names, first, second = machine_from_table(table(link=[link])).channels
    assert names[first[1, 2]] == "gpu:0 send"
    assert names[second[1, 2]] == "gpu:1 receive"
    assert first[1, 2] == first[1, 0]
    assert second[1, 2] == second[0, 2]


def test_the_closest_link_wins_whatever_the_order():
    links = [
        {"bandwidth": 1e10, "latency": 1e-5},
        {"bandwidth": 3e10, "latency": 0, "from": "gpu:0", "to": "gpu:1"},
        {"bandwidth": 2e10, "latency": 0, "from": "gpu", "to": "gpu", "channel": "shared"},
    ]
    machine = machine_from_table(table(link=links))
    assert machine.transfer_seconds(1, 2, 3e10) == 1
    assert machine.transfer_seconds(2, 1, 2e10) == 1
    assert machine.transfer_seconds(0, 1, 1e10) == 1 + 1e-5
    assert machine.transfer_seconds(1, 1, 1e10) == 0


def test_missing_memory_is_that_of_the_device_that_lacks_most_of_its_own():
    machine = machine_from_table(table())
    full = machine.memory
    peaks = np.stack([full, full * [1, 2, 1], full * [0.5, 1.25, 1.5], full // 2])
    assert machine.missing_memory(peaks).tolist() == [0.0, 1.0, 0.5, 0.0]
    assert machine.missing_memory(peaks[2]) == 0.5


def test_one_entry_may_stand_for_several_devices():
    short = [table()["device"][0], {"name": "gpu", "count": 2, "kind": "gpu", **DEVICE}]
    assert machine_from_table(table(device=short)).devices == machine_from_table(table()).devices


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "two", 256])
def test_a_count_is_a_whole_number(count):
    devices = [{"name": "gpu", "count": count, "kind": "gpu", **DEVICE}]
    with pytest.raises(InputError, match=r"device gpu: count is .*; give a whole number from 1"):
        machine_from_table(table(device=devices))


def test_what_is_left_out_has_the_documented_default():
    machine = machine_from_table(table(), "folder/mine.toml")
    assert (machine.name, machine.dispatch, machine.backend) == ("m", "fifo", "")
    assert not machine.one_process
    for device in machine.devices:
        assert device.host_overhead == device.launch_overhead == 1e-6
        assert device.parallelism == 1
    unnamed = {key: value for key, value in table().items() if key != "name"}
    assert machine_from_table(unnamed, "folder/mine.toml").name == "mine"


def test_a_share_of_the_peak_is_one_number_for_both_or_one_for_each():
    given = {"matmul": 0.5, "convolution": 1.5, "movement": {"compute": 0.25, "memory": 0.75}}
    machine = machine_from_table(table(efficiency={"gpu": given}))
    both = {"matmul": (0.5, 0.5), "convolution": (1.5, 1.5), "movement": (0.25, 0.75)}
    assert machine.efficiency == {"gpu": both}


def test_the_largest_share_is_ten_and_may_be_of_a_kind_that_the_machine_lacks():
    cpu = [{"name": "a", "kind": "cpu", **DEVICE}]
    given = {"gpu": {"matmul": 10}}
    machine = machine_from_table(table(device=cpu, efficiency=given))
    assert machine.efficiency == {"gpu": {"matmul": (10.0, 10.0)}}


def test_what_takes_no_time_is_no_mistake():
    nothing = dict.fromkeys(("launch_overhead", "host_overhead"), 0)
    links = dict.fromkeys(
        ("latency", "send_overhead", "receive_overhead", "gap", "scheduling_latency"), 0
    )
    devices = [{"name": f"gpu:{i}", "kind": "gpu", **DEVICE, **nothing} for i in range(2)]
    devices[1]["launch_overhead"] = 1e-6
    machine = machine_from_table(table(device=devices, link=[{"bandwidth": 1, **links}]))
    assert [device.launch_overhead for device in machine.devices] == [0, 1e-6]
    assert [device.host_overhead for device in machine.devices] == [0, 0]
    assert all(getattr(machine.links[0], name) == 0 for name in links)


def test_transfers_over_different_roots_do_not_wait_for_one_another():
    links = [
        {"bandwidth": 1, "latency": 0, "channel": "shared", "name": "out", "from": "cpu"},
        {"bandwidth": 1, "latency": 0, "channel": "shared", "name": "home"},
    ]
    names, first, _ = machine_from_table(table(link=links)).channels
    assert [names[first[ends]] for ends in ((0, 1), (0, 2), (1, 0), (1, 2))] == [
        *("out", "out"),
        *("home", "home"),
    ]


def test_a_link_may_lead_to_a_kind_that_the_machine_lacks():
    links = [{"bandwidth": 1, "latency": 0}, {"bandwidth": 2, "latency": 0, "to": "gpu"}]
    cpus = [{"name": f"cpu:{i}", "kind": "cpu", **DEVICE} for i in range(2)]
    assert machine_from_table(table(device=cpus, link=links)).transfer_seconds(0, 1, 1) == 1


def test_a_profile_does_not_hide_a_machine_of_placebench(user_folder):
    profiles_folder().mkdir(parents=True)
    for name in ("k40", "mine"):
        (profiles_folder() / f"{name}.toml").write_text("source = 3")
    (user_folder / "k40").mkdir()  # nor does a folder of that name
    assert load_machine("k40").source
    with pytest.raises(InputError, match=r"machines.mine\.toml: source is 3; give text"):
        load_machine("mine")


def test_a_profile_may_have_a_dot_in_its_name(user_folder, monkeypatch):
    monkeypatch.chdir(user_folder)
    profiles_folder().mkdir(parents=True)
    (profiles_folder() / "my.host.toml").write_text("source = 3")
    (user_folder / "my.host").mkdir()
    assert "my.host" in known_machines()
    assert machine_path("my.host") == profiles_folder() / "my.host.toml"
    with pytest.raises(InputError, match=r"my\.host\.toml: source is 3; give text"):
        load_machine("my.host")
    (user_folder / "my.host").rmdir()
    (user_folder / "my.host").write_text("")
    assert machine_path("my.host") == machine_path("./my.host") == Path("my.host")
    with pytest.raises(InputError, match=r"no machine 'your\.host'; known: .*my\.host"):
        load_machine("your.host")


LONG, DEEP = "7" * 5000, "[" * 5000
UNUSABLE = {
    f"source = {LONG}": "a number in it is too long; check units",
    f"source = 0x{LONG}": "a number in it is too long; check units",
    f"source = [[0x{LONG}]]": "a number in it is too long; check units",
    f"source = {DEEP}": "tables or lists within one another too often; write it flat",
    f"source{'.a' * 5000} = 3": "tables or lists within one another too often; write it flat",
}


@pytest.mark.parametrize("number", range(len(UNUSABLE)))
def test_what_no_toml_file_can_mean_is_told(tmp_path, number):
    text, told = list(UNUSABLE.items())[number]
    path = tmp_path / "odd.toml"
    path.write_text(text)
    for read in (load_machine, load_grid):
        with pytest.raises(InputError, match=f"^{path}: {told}$"):
            read(str(path))
    name, _, value = text.partition(" = ")
    with pytest.raises(InputError, match=rf"^--set '.*\.\.\.: {told}$"):
        parameters_of([f"{name}={value}"])


def test_a_file_that_is_none_is_told_as_what_it_is(tmp_path):
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "other.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"folder\.toml is a folder; give a machine's \.toml file"):
        load_machine(tmp_path / "folder.toml")
    with pytest.raises(InputError, match=r"other\.toml: not valid TOML"):
        load_machine(tmp_path / "other.toml")
    # As editors on Windows write it.
    (tmp_path / "marked.toml").write_text("\ufeffsource = 3")
    with pytest.raises(InputError, match="source is 3; give text"):
        load_machine(tmp_path / "marked.toml")


def test_with_gpus_keeps_the_cpu():
    machine = machine_from_table(table()).with_gpus(1)
    assert [d.name for d in machine.devices] == ["cpu:0", "gpu:0"]
    with pytest.raises(InputError, match="has 2 GPUs, not 3"):
        machine_from_table(table()).with_gpus(3)


def test_with_gpus_keeps_devices_of_other_kinds():
    devices = [*table()["device"], {"name": "tpu:0", "kind": "tpu", **DEVICE}]
    machine = machine_from_table(table(device=devices))
    assert [d.name for d in machine.with_gpus(1).devices] == ["cpu:0", "gpu:0", "tpu:0"]


def test_links_of_gpus_that_go_may_stay():
    links = [
        {"bandwidth": 1e10, "latency": 1e-5},
        {"bandwidth": 3e10, "latency": 0, "from": "gpu:1", "to": "gpu:0"},
    ]
    assert machine_from_table(table(link=links)).with_gpus(1).n_devices == 2


@pytest.mark.parametrize("name", known_machines())
def test_every_machine_loads_and_cites_its_source(name):
    machine = load_machine(name)
    assert machine.name == name
    assert machine.source
    assert set(machine_origin(name)) == set(PARTS)


@pytest.mark.parametrize(
    ("name", "home_slower", "out_slower"), [("a100_8", 9.5, 9.5), ("h100_8", 13.2, 57)]
)
def test_islands_of_nvlink_are_faster_than_the_way_to_the_host(name, home_slower, out_slower):
    machine = load_machine(name)
    cpu, first, second = machine.cpus[0], *machine.gpus[:2]
    size = 10**9
    between, home = (machine.transfer_seconds(first, to, size) for to in (second, cpu))
    assert home / between == pytest.approx(home_slower, rel=0.01)
    assert machine.transfer_seconds(cpu, second, size) / between == pytest.approx(
        out_slower, rel=0.01
    )


def test_the_way_between_host_and_gpus_of_h100_8_is_the_one_that_was_measured():
    whole, measured = load_machine("h100_8"), load_machine("h100_1")
    for ends in ((0, 1), (1, 0)):
        for size in (4, 10**6, 10**9):
            expected = measured.transfer_seconds(*ends, size)
            assert whole.transfer_seconds(*ends, size) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"device": []}, "no .*device"),
        ({"link": []}, "no .*link.* serves cpu:0 -> gpu:0"),
        ({"link": [{"bandwidth": 0, "latency": 0}]}, "bandwidth is 0"),
        ({"link": [{"bandwidth": True, "latency": 0}]}, "bandwidth is True; give a number > 0"),
        ({"link": [{"bandwidth": 1, "latency": -1e-6}]}, "latency is -1e-06; give a number >= 0"),
        (
            {"link": [{"bandwidth": 1, "latency": 0, "copy_bandwidth": 0}]},
            "link any -> any: copy_bandwidth is 0; give a number > 0",
        ),
        *(
            (
                {"device": [{"name": "a", "kind": "cpu", **DEVICE, speed: 0}]},
                f"device a: {speed} is 0; give a number > 0",
            )
            for speed in ("peak_flops", "memory_bandwidth")
        ),
        ({"one_process": "yes"}, "one_process is 'yes'; write true or false"),
        ({"link": [{"bandwidth": 1, "latency": 0, "channel": "bus"}]}, "channel is 'bus'"),
        (
            {"link": [{"bandwidth": 1, "latency": 0, "from": "gpu:9"}]},
            "a link is from 'gpu:9', which is no device; known: cpu:0, gpu:0, gpu:1",
        ),
        (
            {"link": [{"bandwidth": 1, "latency": 0, "to": "gpus"}]},
            "a link is to 'gpus', which is no device",
        ),
        ({"device": [{"name": "a", "kind": "cpu"}]}, "device a has no memory"),
        (
            {"device": [{"name": "a", "kind": "cpu", **DEVICE, "memory": "12 XB"}]},
            "memory is '12 XB'",
        ),
        ({"device": [{"name": "a", "kind": "cpu", **DEVICE, "speed": 1}]}, "no 'speed'"),
        ({"device": [{"name": "a", "kind": "cpu", **DEVICE}] * 2}, "two devices are named 'a'"),
        (
            {"device": [{"name": "a", "kind": "CPU", **DEVICE}]},
            "device a: kind is 'CPU'; write 'cpu'",
        ),
        ({"device": [{"name": "a", "kind": 3, **DEVICE}]}, "device a: kind is 3; give text"),
        (
            {"device": [{"name": "a", "kind": "cpu", **DEVICE, "memory": 0.4}]},
            "memory is 0.4",
        ),
        (
            {"device": [{"name": "a", "kind": "cpu", **DEVICE, "memory": "16"}]},
            'device a: memory is .16.; add a unit, such as "16 GB"',
        ),
        (
            {"device": [{"name": "a", "kind": "cpu", **DEVICE, "peak_flops": 10**400}]},
            "device a: peak_flops is 1000",
        ),
        (
            {"link": [{"bandwidth": 1, "latency": 0}, {"bandwidth": 2, "latency": 0}]},
            "there are two links any -> any; leave one out",
        ),
        (
            {
                "link": [
                    {"bandwidth": 1, "latency": 0},
                    {"bandwidth": 2, "latency": 0, "to": "gpu:0"},
                    {"bandwidth": 3, "latency": 0, "to": "gpu:0"},
                ]
            },
            "there are two links any -> gpu:0",
        ),
        ({"efficiency": {"gpu": {"conv": 0.5}}}, "no 'conv'"),
        ({"efficiency": {"gpus": {"matmul": 0.5}}}, "no device of kind 'gpus'; kinds: cpu, gpu"),
        ({"efficiency": {"gpu": {"matmul": 60}}}, "compute is 60; give a share, such as 0.6"),
        ({"efficiency": {"gpu": {"matmul": 11}}}, "compute is 11; give a share, such as 0.6"),
        (
            {"device": [{"name": "a", "kind": "cpu", **DEVICE, "parallelism": 10_001}]},
            "parallelism is 10001; give a whole number from 1 to 10,000",
        ),
        (
            {"efficiency": {"gpu": {"matmul": {"compute": 0.6, "memory": 0.8, "compte": 1}}}},
            "efficiency.gpu.matmul has a key 'compte'; it has compute and memory",
        ),
        (
            {"device": [{"count": 2, "kind": "cpu", **DEVICE}]},
            r"machine: device \? has no name; add it",
        ),
        (
            {"device": [{"name": 3, "count": 2, "kind": "cpu", **DEVICE}]},
            "device 3: name is 3; give text",
        ),
        ({"op_times": 3}, "op_times is 3; give text"),
        ({"color": "red"}, "unknown key 'color'"),
        ({"origin": {"wires": "assumed"}}, "origin has no 'wires'; known: devices, overheads"),
        ({"origin": {"links": "guess"}}, "origin of links is 'guess'; one of data sheet, fitted"),
    ],
)
def test_a_bad_machine_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        machine_from_table(table(**changes))


@pytest.mark.parametrize("part", ["machine", "device", "link", "efficiency"])
def test_of_several_unknown_keys_the_first_of_the_file_is_named(part):
    """Whatever the order in which this run of Python keeps a set."""
    odd = dict.fromkeys(reversed("abcdefghijklmnopqrstuvwxyz"), 1)
    bad = {
        "machine": odd,
        "device": {"device": [{"name": "a", "kind": "cpu", **DEVICE, **odd}]},
        "link": {"link": [{"bandwidth": 1, "latency": 0, **odd}]},
        "efficiency": {"efficiency": {"gpu": {"matmul": odd}}},
    }
    with pytest.raises(InputError, match="'z'"):
        machine_from_table(table(**bad[part]))


def test_an_unknown_machine_lists_the_known_ones():
    with pytest.raises(InputError, match=r"known: .*k40"):
        load_machine("k41")


@pytest.mark.parametrize(
    ("text", "size"),
    [("12 GB", 12 * 10**9), ("1.5 GiB", 3 * 2**29), (1024, 1024), ("2e9", 2 * 10**9), ("5 B", 5)],
)
def test_sizes(text, size):
    assert parse_bytes(text, "memory") == size
