"""A progress bar of plain text, on stderr: one line in a terminal and in a notebook."""
import sys
import time


class Progress:
    """
    >>> import io
    >>> out = io.StringIO()
    >>> with Progress(0, 2, enabled=True, out=out, least_seconds=0) as bar:
    ...     bar.show(1.0)
    >>> "50 %" in out.getvalue()
    True
    """

    WIDTH = 30

    def __init__(self, begin, end, enabled, out=None, least_seconds=0.1):
        self.begin, self.end, self.enabled = begin, end, enabled
        self._out = out if out is not None else sys.stderr
        self._least = least_seconds
        self._started = self._shown = time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.enabled:
            if kind is None:
                self._shown = 0
                self.show(self.end)
            self._out.write("\n")
            self._out.flush()

    def show(self, now):
        """At most a few times a second."""
        clock = time.monotonic()
        if not self.enabled or clock - self._shown < self._least:
            return
        self._shown = clock
        done = 1.0 if self.end == self.begin else min(1.0, max(0.0, (now - self.begin) / (self.end - self.begin)))
        left = (clock - self._started) * (1 - done) / done if done > 0 else 0.0
        bar = "#" * round(self.WIDTH * done)
        self._out.write(f"\r[{bar:<{self.WIDTH}}] {100 * done:3.0f} %  t = {now:g}  {left:.0f} s left ")
        self._out.flush()
