"""What windows, sessions and state hold, in plain Python over the same events: an engine of its own for comparison."""

from collections import defaultdict

from tests.spark.sequence import events

BURST, PAUSE, KEYS = 5_000, 10_000, 50


def happened(first, last):
    """(seq, key, v, ms) of the events with first <= seq < last."""
    return [event for event in events(last, KEYS, BURST, PAUSE) if event[0] >= first]


def ceiling(value, step):
    return -(-value // step) * step


def frames_of(found, slide):
    """(key, frame end) -> [n, sum]."""
    frames = defaultdict(lambda: [0, 0])
    for _, key, v, ms in found:
        entry = frames[(key, ms - ms % slide + slide)]
        entry[0] += 1
        entry[1] += v
    return frames


def windows_of(frames, size, slide, after, until):
    """{(key, start, end): (n, sum)} of the windows whose end is in (after, until]."""
    windows = defaultdict(lambda: [0, 0])
    for (key, frame_end), (n, total) in frames.items():
        end = frame_end
        while end - size < frame_end:
            if after < end <= until:
                windows[(key, end - size, end)][0] += n
                windows[(key, end - size, end)][1] += total
            end += slide
    return {window: tuple(entry) for window, entry in windows.items()}


def plain_windows(found, size, slide, until):
    """All windows of these events that end by ``until``."""
    return windows_of(frames_of(found, slide), size, slide, float("-inf"), until)


def sessions_of(found, timeout_of):
    """[(key, start, end, n, sum)]: each event opens [ms, ms + timeout_of(seq)); intervals of a key that overlap are one."""
    by_key = defaultdict(list)
    for seq, key, v, ms in found:
        by_key[key].append((ms, ms + timeout_of(seq), v))
    sessions = []
    for key, own in by_key.items():
        for ms, end, v in sorted(own):
            if sessions and sessions[-1][0] == key and ms < sessions[-1][2]:
                _, start, before, n, total = sessions.pop()
                sessions.append((key, start, max(before, end), n + 1, total + v))
            else:
                sessions.append((key, ms, end, 1, v))
    return sessions


def reframed_windows(before, after, old, new, watermark, until):
    """The windows that end after the watermark when frames of ``old`` (size, slide) go on in ``new``.

    Saved are the frames of windows that are open at the watermark; each counts in the new frame at whose end, or before,
    it ends.
    """
    oldest = (watermark - old[0]) // old[1] * old[1] + old[1]
    frames = frames_of(after, new[1])
    for (key, end), (n, total) in frames_of(before, old[1]).items():
        if end - old[1] >= oldest if old[0] > old[1] else end > watermark:
            entry = frames[(key, ceiling(end, new[1]))]
            entry[0] += n
            entry[1] += total
    return windows_of(frames, new[0], new[1], watermark, until)
