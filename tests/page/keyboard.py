"""Somebody before a screen who has no pointer."""

import re


class Keyboard:
    """Works a page by Tab, Enter, Space, arrows and signs alone, as a reader without a pointer has to."""

    def __init__(self, page):
        self.page = page

    def press(self, name, within=None, exact=True):
        """Go to the button of this name, and press it once it may be pressed."""
        button = (within or self.page).get_by_role("button", name=name, exact=exact)
        button.and_(self.page.locator(":not([aria-disabled=true])")).wait_for(timeout=60_000)
        self.reach(button)
        self.page.keyboard.press("Enter")

    def confirm(self, name):
        """Press a button of the dialog."""
        self.press(name, self.page.get_by_role("dialog"))

    def write(self, label, text):
        """Go to the field of this label, and write this into it instead of what stands there."""
        dialog = self.page.get_by_role("dialog")
        # A field that has to be filled has a star behind its label.
        named = re.compile(rf"^{re.escape(label)}( \*)?$")
        self.reach((dialog if dialog.count() else self.page).get_by_label(named))
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)

    def choose(self, label, part):
        """Write a part of an option into the list of this label, and take the first that is found."""
        roles = [self.page.get_by_role(role, name=label, exact=True) for role in ("combobox", "textbox")]
        self.reach(roles[0].or_(roles[1]))
        self.page.keyboard.insert_text(part)
        self.page.get_by_role("option").first.wait_for()
        self.page.keyboard.press("ArrowDown")
        self.page.keyboard.press("Enter")

    def pick_file(self, path):
        """Press the field of the file, and take this one in the window of the system."""
        with self.page.expect_file_chooser() as chooser:
            self.press("File", exact=False)
        chooser.value.set_files(path)

    def open_tab(self, name):
        """Show a tab: its list is one stop, and arrows go along it."""
        tabs = self.page.get_by_role("tab")
        self.reach(self.page.get_by_role("tab", selected=True))
        for _ in range(tabs.count()):
            if self._there(self.page.get_by_role("tab", name=name, exact=True)):
                break
            self.page.keyboard.press("ArrowRight")
        self.page.keyboard.press("Enter")
        self.page.get_by_role("tab", name=name, exact=True, selected=True).wait_for()

    def reach(self, wanted, most=150):
        """Press Tab until this has the focus, seen as such."""
        wanted.wait_for()
        for _ in range(most):
            if self._there(wanted):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{wanted} cannot be reached by Tab")

    def _there(self, wanted):
        return wanted.evaluate("element => element === document.activeElement && element.matches(':focus-visible')")
