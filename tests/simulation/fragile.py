"""Processes that may die between any two of their writes: what they use counts the moments, and one of them kills."""

from contextlib import contextmanager


class Crash(BaseException):
    """The process dies here. No handler of errors may see it: a dead process handles nothing."""


class Moments:
    """Counts down the moments at which a process may die; the one that is reached at zero kills it."""

    def __init__(self):
        self.left = None

    def one(self):
        if self.left is None:
            return
        if self.left == 0:
            self.left = None
            raise Crash
        self.left -= 1

    @contextmanager
    def dying_at(self, moment):
        """Within this, die at that moment (None: not at all); True in the end if it did."""
        self.left = moment
        died = []
        try:
            yield died
        except Crash:
            died.append(True)
        finally:
            self.left = None


class Faults:
    """How many of the next calls fail, with an error of this kind."""

    def __init__(self, kind):
        self.left, self._kind = 0, kind

    def one(self, name):
        if self.left > 0:
            self.left -= 1
            raise self._kind(f"{name} does not work now")


class Fragile:
    """A port whose calls are moments: a process may die before each, and after each. A transaction's end is one, too."""

    def __init__(self, port, moments, faults=None, only=None):
        """``only``: names of the calls that are moments; all others change nothing."""
        self._port, self._moments, self._faults, self._only = port, moments, faults or Faults(OSError), only

    def __getattr__(self, name):
        method = getattr(self._port, name)
        if self._only is not None and name not in self._only:
            return method

        def call(*args, **named):
            self._moments.one()
            self._faults.one(name)
            result = method(*args, **named)
            self._moments.one()
            return result

        return call

    @contextmanager
    def transaction(self):
        self._moments.one()
        self._faults.one("transaction")
        with self._port.transaction():
            yield
            self._moments.one()
        self._moments.one()


def fragile_files(files, moments):
    """Files that a process may die between any two changes of."""
    return Fragile(files, moments, only=("write", "copy", "remove", "publish"))
