"""Machines in Python."""

import pytest

import linkcast


def test_catalog_is_sorted_and_every_machine_loads():
    names = linkcast.catalog()
    assert list(names) == sorted(names)
    for name in names:
        fabric = linkcast.Fabric.load(name)
        assert len(fabric) == len(fabric.gpus) >= 2, name
        assert fabric.bisection_GBps > 0, name


def test_slice_keeps_order_and_can_be_sliced_again(h100):
    part = h100.slice([6, 2, 4])
    assert part.gpus == (h100.gpus[6], h100.gpus[2], h100.gpus[4])
    assert part.slice([2, 0]).gpus == (h100.gpus[4], h100.gpus[6])
    assert len(h100) == 8


def test_half_a_machine_has_less_bisection(h100):
    # Four of eight GPUs behind the same switches: two against two instead of four against four.
    assert h100.slice(range(4)).bisection_GBps == pytest.approx(h100.bisection_GBps / 2, rel=0.01)


@pytest.mark.parametrize("ranks", [[8], [-1], [0, 0], []])
def test_ranks_that_do_not_exist(h100, ranks):
    with pytest.raises(linkcast.InputError):
        h100.slice(ranks)


def test_unknown_name_says_the_nearest():
    with pytest.raises(linkcast.InputError, match="dgx-h100"):
        linkcast.Fabric.load("dgx-h10")


def test_every_problem_of_a_file_at_its_place(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("schema: linkcast.topology/1\nextends: dgx-h100\nnmae: mine\nspeed: 3\n")
    with pytest.raises(linkcast.InputError) as caught:
        linkcast.Fabric.load(file)
    lines = [d["line"] for d in caught.value.diagnostics]
    assert {3, 4} <= set(lines)
    assert all(d["file"].endswith("mine.yaml") for d in caught.value.diagnostics)
    assert isinstance(caught.value, ValueError)


def test_a_folder_is_no_machine(tmp_path):
    with pytest.raises(linkcast.InputError):
        linkcast.Fabric.load(tmp_path)


def test_a_cluster_has_nodes_and_jobs():
    cluster = linkcast.Cluster.load("dgx-h100", nodes=4)
    assert (cluster.nodes, cluster.ranks, cluster.gpus_per_node) == (4, 32, 8)
    assert "ideal" in cluster.assumptions[0]
    assert cluster.job([3, 1]).ranks == 16
    with pytest.raises(linkcast.InputError, match="named twice"):
        cluster.job([1, 1])


def test_two_nodes_are_slower_than_one():
    one = linkcast.collective("dgx-h100", "all_gather", "1G")
    two = linkcast.collective(linkcast.Cluster.load("dgx-h100", nodes=2), "all_gather", "1G")
    assert two.ranks == 16
    assert two.time_us[0] > one.time_us[0]


def test_routing_is_a_known_word():
    with pytest.raises(linkcast.InputError, match="routing"):
        linkcast.Cluster.load("dgx-h100", nodes=2, routing="random")


def test_a_profile_lies_over_the_catalog(tmp_path):
    ours = tmp_path / "ours.yaml"
    ours.write_text("schema: linkcast.profile/1\nname: ours\nparts:\n  hosts:\n    xeon: {launch_multi_process: 100 us}\n")
    plain = linkcast.collective(linkcast.Fabric.load("dgx-h100"), "all_reduce", "8")
    slow = linkcast.collective(linkcast.Fabric.load("dgx-h100", profile=ours), "all_reduce", "8")
    assert slow.time_us[0] >= 100 > plain.time_us[0]
    with pytest.raises(linkcast.InputError, match="no part 'xoen'"):
        ours.write_text("schema: linkcast.profile/1\nname: ours\nparts:\n  hosts:\n    xoen: {launch_graph: 1 us}\n")
        linkcast.Fabric.load("dgx-h100", profile=ours)
