"""A server process for tests that hands out plays: ``python scale_server.py URL FOLDER PORT``.

It is the server of ``endstop serve --hand-out``, with agents of the tests. Says its address, a token,
and a link that signs a browser in, once.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from scale_cast import agent, maker, play_of

from endstop.app import App, Config, SystemClock
from endstop.loop import Agent
from endstop.runner.scale.dispatcher import Dispatcher
from endstop.runner.scale.engine import Engine
from endstop.server.access import Access
from endstop.server.questions import Wanted
from endstop.server.rate import QueryLimits
from endstop.server.server import make_server
from endstop.server.serving import Door, listen, serve
from endstop.store import open_store

PLENTY = QueryLimits(per_minute=1_000_000, at_once=10_000)
MOST_WAITING = 12


async def served(url: str, folder: Path, port: int) -> None:
    door = Door(port=port)
    async with Engine(url) as engine:
        store = await open_store(url)
        runner = Dispatcher(
            store,
            engine,
            clock=SystemClock(),
            agent_of=maker(None),
            most_waiting_per_user=MOST_WAITING,
        )
        app = App(config=Config(home=folder, database_url=url), store=store, runner=runner)
        with listen(door) as listening:
            taken = int(listening.getsockname()[1])
            access = Access.on_loopback(store, user="ada", port=taken, limits=PLENTY)
            asgi = make_server(app, access, make_agent=_made, project=str(folder))

            async def stop(seconds: float) -> None:
                await runner.shutdown(seconds=seconds)
                asgi.state.context.hub.close()

            def tell() -> None:
                ready = {
                    "address": f"http://127.0.0.1:{taken}",
                    "token": access.program_token(),
                    "link": access.one_time_link(taken),
                }
                sys.stdout.write(json.dumps(ready) + "\n")
                sys.stdout.flush()

            await serve(asgi, listening, on_stop=stop, on_ready=tell, on_stopping=lambda: None)
        await store.close()


def _made(wanted: Wanted) -> Agent:
    return agent(play_of(wanted.question))


if __name__ == "__main__":
    asyncio.run(served(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
