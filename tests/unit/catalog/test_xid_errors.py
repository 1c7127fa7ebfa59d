from gpuyard.catalog.xid_errors import hardware_xid_errors


def test_errors_of_the_hardware_are_known_by_code_and_meaning() -> None:
    found = {error.code: error.meaning for error in hardware_xid_errors()}
    assert list(found) == [48, 63, 64, 74, 79, 92, 94, 95]
    assert found[79] == "GPU has fallen off the bus"
    assert 13 not in found, "an exception of the job"
