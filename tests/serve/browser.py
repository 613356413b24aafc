"""A headless Chromium whose keys can be pressed, by a few commands of its protocol."""

import base64
import contextlib
import json
import subprocess
import time
import urllib.request

from tests._needs import needs, needs_program

__all__ = ["Browser", "open_browser"]


class BrowserError(Exception):
    """A command that the browser did not carry out."""


class Browser:
    """One page of a running browser."""

    def __init__(self, connection):
        self._connection = connection
        self._sent = 0

    def call(self, method, **parameters):
        """Returns what a command of the DevTools protocol answers."""
        self._sent += 1
        message = {"id": self._sent, "method": method, "params": parameters}
        self._connection.send(json.dumps(message))
        while True:
            answer = json.loads(self._connection.recv())
            if answer.get("id") == self._sent:
                if "error" in answer:
                    raise BrowserError(answer["error"]["message"])
                return answer["result"]

    def run(self, script):
        """Returns the value of a JavaScript expression."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)}).textContent")

    def wait(self, script):
        """Waits until an expression is true."""
        for _ in range(600):
            # Between two pages there is none that could answer.
            with contextlib.suppress(BrowserError):
                if self.run(script):
                    return
            time.sleep(0.05)
        raise AssertionError(f"never true: {script}\n{self.run('document.body.innerText')}")

    def open(self, url):
        self.call("Page.navigate", url=url)
        here = f"location.href.startsWith({json.dumps(url)})"
        self.wait(f"{here} && document.readyState == 'complete'")

    def press(self, key):
        code = ord(key.upper())
        parameters = {"key": key, "text": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", **parameters)
        self.call("Input.dispatchKeyEvent", type="keyUp", **parameters)

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))


@contextlib.contextmanager
def open_browser(folder, *, size=(1280, 860)):
    """Starts a browser with a fresh profile, and ends it."""
    websocket = needs("websocket")
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = needs_program(*names, get="apt-get install chromium")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    flags += ["--remote-debugging-port=0", "--remote-allow-origins=*"]
    flags += [f"--user-data-dir={folder}", f"--window-size={size[0]},{size[1]}", "about:blank"]
    with (folder.parent / "chromium.log").open("wb") as log:
        process = subprocess.Popen([chromium, *flags], stdout=log, stderr=log)
    try:
        port = _port(folder / "DevToolsActivePort", process)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=60) as answer:
            [page] = [one for one in json.load(answer) if one["type"] == "page"]
        connection = websocket.create_connection(page["webSocketDebuggerUrl"], timeout=60)
        browser = Browser(connection)
        browser.call("Page.enable")
        yield browser
        connection.close()
    finally:
        process.terminate()
        process.wait(30)


def _port(file, process):
    for _ in range(1200):
        assert process.poll() is None, "the browser ended"
        if file.exists() and (lines := file.read_text().split()):
            return int(lines[0])
        time.sleep(0.05)
    raise AssertionError("the browser does not answer")
