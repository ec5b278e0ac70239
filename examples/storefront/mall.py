"""A mall to crawl: a few shops behind one small HTTP server on this machine, with a directory and pages of products.

Open it until Ctrl-C: python mall.py [PORT]
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

PORT = 8765
PAGE = 8
REQUEST_SECONDS = 0.005
SHOPS = {"lamps": 20, "chairs": 13, "clocks": 30, "candles": 4}
PLATFORMS = {"lamps": "trolley-71", "chairs": "trolley-72", "clocks": "basket-9"}
"""Candles are sold on a page of somebody's own: no platform, and no list of products."""


class Mall(ThreadingHTTPServer):
    """Its shops with their prices. Counts how many requests each of them has had to answer at once."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Shop)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.prices = {shop: [10 + 5 * number for number in range(count)] for shop, count in SHOPS.items()}
        self.out_of_order = {"clocks"}
        self.most_at_once: Counter[str] = Counter()
        self._now: Counter[str] = Counter()
        self._lock = threading.Lock()

    def raise_prices(self, shop: str, by: int) -> None:
        self.prices[shop] = [price + by for price in self.prices[shop]]

    @contextmanager
    def visited(self, shop: str) -> Iterator[None]:
        with self._lock:
            self._now[shop] += 1
            self.most_at_once[shop] = max(self.most_at_once[shop], self._now[shop])
        time.sleep(REQUEST_SECONDS)
        yield
        with self._lock:
            self._now[shop] -= 1


class Shop(BaseHTTPRequestHandler):
    """/stores.json lists the shops; /lamps is the front page of one; /lamps/products.json?page=2 are its products."""

    server: Mall

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        shop, _, rest = address.path.strip("/").partition("/")
        if shop == "stores.json":
            self._answer(json.dumps([{"id": one, "url": f"{self.server.url}/{one}"} for one in SHOPS]))
            return
        page = int(parse_qs(address.query).get("page", ["1"])[0])
        with self.server.visited(shop):
            answer = self._page(shop, rest, page)
        self._answer(*answer)  # Afterwards: who has the answer may be back before we note that he has left.

    def _page(self, shop: str, rest: str, page: int) -> tuple[str, int]:
        if shop in self.server.out_of_order:
            self.server.out_of_order.discard(shop)
            return "come again in a moment", 503
        if rest == "products.json" and shop in PLATFORMS:
            return self._products(shop, page), 200
        if not rest and shop in SHOPS:
            platform = f'<meta name="platform" content="{PLATFORMS[shop]}">' if shop in PLATFORMS else ""
            return f"<html><head>{platform}</head><body>{shop}</body></html>", 200
        return "there is no such page", 404

    def _products(self, shop: str, page: int) -> str:
        prices = self.server.prices[shop]
        chosen = range((page - 1) * PAGE, min(page * PAGE, len(prices)))
        products = [{"id": number, "title": f"{shop} no. {number}", "price": prices[number]} for number in chosen]
        return json.dumps({"products": products, "next": page + 1 if page * PAGE < len(prices) else None})

    def _answer(self, text: str, status: int = 200) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """The mall is quiet."""


@contextmanager
def open_mall() -> Iterator[Mall]:
    """The mall is open for the length of the block."""
    with Mall() as mall:
        threading.Thread(target=mall.serve_forever, args=(0.05,)).start()
        try:
            yield mall
        finally:
            mall.shutdown()


def main(port: int) -> None:
    """Open until Ctrl-C."""
    try:
        mall = Mall(port)
    except OSError as error:
        sys.exit(
            f"port {port} cannot be used ({error.strerror}); name another: python mall.py {port + 1}, and for the "
            f"worker STOREFRONT_DIRECTORY=http://127.0.0.1:{port + 1}/stores.json"
        )
    with mall:
        print(f"the mall is open at {mall.url} until Ctrl-C", flush=True)
        try:
            mall.serve_forever()
        except KeyboardInterrupt:
            print("the mall is closed")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else PORT)
