"""A browser driven over WebDriver by Python's standard library: Debian's chromium and chromium-driver."""
import base64
import json
import pathlib
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Enter": "\ue007", "ArrowDown": "\ue015", "ArrowUp": "\ue013", "ArrowLeft": "\ue012", "ArrowRight": "\ue014",
        "Home": "\ue011", "End": "\ue010", "Escape": "\ue00c", "Tab": "\ue004", "Space": " "}


class Browser:
    """One window, which ends with the `with` block."""

    def __init__(self, width=1440, height=1000, dark=False):
        self.size, self.dark = (width, height), dark

    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix="isthmus-browser-")
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                       text=True)
        self.port = None
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                self.port = int(line.strip().rstrip(".").rsplit(" ", 1)[1])
                break
        if self.port is None:
            raise RuntimeError("chromedriver did not start")
        arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync",
                     "--force-device-scale-factor=1", "--hide-scrollbars",
                     f"--window-size={self.size[0]},{self.size[1]}", f"--user-data-dir={self.profile}"]
        if self.dark:
            arguments.append("--force-dark-mode")
        wanted = {"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"},
                  "goog:chromeOptions": {"args": arguments}}
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}}, whole=True)
        self.session = answer["sessionId"]
        return self

    def __exit__(self, *_):
        try:
            self.call("DELETE", f"/session/{self.session}")
        finally:
            self.driver.terminate()
            self.driver.wait(20)
            shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, path, body=None, whole=False):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {error.read().decode()[:600]}") from None

    def do(self, method, path, body=None):
        return self.call(method, f"/session/{self.session}{path}", body)

    def open(self, path, fragment=""):
        self.do("POST", "/url", {"url": pathlib.Path(path).resolve().as_uri() + fragment})

    def script(self, text, *args):
        return self.do("POST", "/execute/sync", {"script": text, "args": list(args)})

    def find(self, css):
        return self.do("POST", "/element", {"using": "css selector", "value": css})[ELEMENT]

    def click(self, css):
        self.do("POST", f"/element/{self.find(css)}/click", {})

    def text(self, css):
        return self.do("GET", f"/element/{self.find(css)}/text")

    def type(self, css, text):
        self.do("POST", f"/element/{self.find(css)}/value", {"text": text})

    def press(self, *names):
        """Keys for whatever has the focus."""
        actions = [{"type": kind, "value": KEYS.get(name, name)} for name in names for kind in ("keyDown", "keyUp")]
        self.do("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def wait_for(self, condition, seconds=20):
        """Until the JavaScript expression is true."""
        end = time.monotonic() + seconds
        while not self.script(f"return !!({condition})"):
            if time.monotonic() > end:
                raise AssertionError(f"after {seconds} s still not: {condition}")
            time.sleep(0.05)

    def screenshot(self, path, css=None):
        """Of the window, or of one element, which must fit into it."""
        place = "/screenshot"
        if css:
            self.script("document.querySelector('header').style.position = 'static'")  # it would lie over the element
            place = f"/element/{self.find(css)}/screenshot"
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.do("GET", place)))

    def errors(self):
        """What the console got since the last call, apart from plain messages."""
        return [entry["message"] for entry in self.do("POST", "/se/log", {"type": "browser"})
                if entry["level"] in ("SEVERE", "WARNING")]
