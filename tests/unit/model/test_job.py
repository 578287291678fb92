from pitstop.model.job import JobState


def test_every_state_explains_itself_and_two_are_terminal():
    assert all(state.sentence.endswith(".") for state in JobState)
    assert {state for state in JobState if state.terminal} == {JobState.FAILED, JobState.COMPLETED}
