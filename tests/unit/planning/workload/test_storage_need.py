import pytest

from gpuyard.planning.workload.storage import (
    checkpoint_bytes_per_parameter,
    longest_write_s,
    storage_need,
    young_interval_s,
)

from .helpers import job

LARGE = {"task": "pretrain", "parameters": 405e9}


def test_a_checkpoint_of_bloom_is_as_large_as_published():
    size = 176e9 * checkpoint_bytes_per_parameter("bf16")
    assert 2.3e12 <= size <= 2.3 * 2**40


def test_a_checkpoint_of_fp32_holds_the_weights_once():
    assert checkpoint_bytes_per_parameter("fp32") == 12


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2])
def test_the_longest_pause_makes_exactly_the_share(share):
    mean_s = 11_000
    write_s = longest_write_s(share, mean_s)
    assert write_s / young_interval_s(write_s, mean_s) == pytest.approx(share)


def test_write_bandwidth_and_interval_of_a_job_as_large_as_llama_3():
    need = storage_need(job(**LARGE), "bf16", 16_384, None)
    assert need.mean_time_between_failures_h == pytest.approx(3.09, abs=0.01)
    assert need.checkpoint_gb == pytest.approx(5670)
    assert need.write_gb_per_s == pytest.approx(5670 / need.write_s)
    assert need.write_s / need.interval_s == pytest.approx(0.05)
    assert need.reasons[2].startswith(
        "16,384 GPUs fail about once in 3.1 h; a checkpoint every 19 min (by Young's formula; 18 min by Daly's)"
    )


def test_a_small_job_is_checkpointed_every_four_hours():
    need = storage_need(job(task="lora", parameters=7e9), "bf16", 1, None)
    assert need.interval_s == 4 * 3600
    assert need.reasons[2].startswith(
        "1 GPU fails about once in 50,677.0 h; a checkpoint every 240 min (failures are rarer"
    )


def test_a_smaller_share_needs_faster_writing():
    rates = [
        storage_need(job(**LARGE, checkpoint_pause_share=share), "bf16", 4096, None).write_gb_per_s
        for share in (0.1, 0.05, 0.01)
    ]
    assert rates == sorted(rates)


def test_reading_is_never_under_500_mb_per_s():
    assert storage_need(job(**LARGE), "bf16", 4096, 1e6).read_mb_per_s == 500
    assert storage_need(job(**LARGE), "bf16", 4096, None).read_mb_per_s == 500
    assert "never under 500 MB/s" in storage_need(job(**LARGE), "bf16", 4096, 1e6).reasons[0]


def test_images_are_read_faster_than_tokens():
    vision = job(task="vision", parameters=632e6, image_size=224, patch_size=14)
    need = storage_need(vision, "bf16", 64, 256 * 10_000)
    assert need.read_mb_per_s == pytest.approx(2 * 10_000 * 0.115)
    assert need.reasons[0] == "The job reads 10,000 images of 115 kB a second, 1,150.0 MB/s; with headroom 2,300 MB/s."


def test_spot_interruptions_are_not_made_up():
    need = storage_need(job(**LARGE, allow_interruptions=True), "bf16", 4096, None)
    assert "Spot interruptions come on top of failures; their rate is unknown, so write more often." in need.reasons


def test_adapters_make_small_checkpoints():
    assert storage_need(job(task="lora", parameters=7e9), "bf16", 1, None).checkpoint_gb < 1
