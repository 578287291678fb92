"""The lab's story, by hand on the page, from the first sign-in to the shut-down."""

import pytest


@pytest.mark.always
@pytest.mark.timeout(1200)
def test_all_of_the_lab_can_be_done_in_a_browser(browser, tmp_path):
    from stack import Stack
    from story_page import WIDE, tell

    with Stack(tmp_path / "story", speedup=20.0, spares=1) as stack:
        context = browser.new_context(viewport=WIDE)
        tell(stack, context.new_page(), members=0)
        context.close()
