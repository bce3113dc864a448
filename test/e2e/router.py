"""Carries IPv4 packets between TUN devices, as badly as it is told. Ends with its standard input.

usage: router.py SEED DEVICE=ADDRESS...     makes the devices, then says "ready"
A line of JSON says how one direction is from now on, all of it: {"from": ADDRESS, "to": ADDRESS,
  "loss": 0..1, "duplicate": 0..1, "reorder": 0..1, "delayMs": N, "rate": bytes per second}.
{"count": N} is answered with a line of JSON: N, and what became of the packets so far.
"""

import fcntl
import heapq
import json
import os
import random
import select
import struct
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
# What waits longer for its turn on a slow line finds no room, as in a real router.
QUEUE_SECONDS = 1.0
# A packet that is overtaken is late by up to this.
OVERTAKEN_SECONDS = 0.1
MTU = 2048

chance = random.Random(int(sys.argv[1]))
devices = {}
directions = {}
waiting = []
counts = dict.fromkeys(["carried", "lost", "duplicated", "reordered", "crowded"], 0)
number = 0


def open_device(name):
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22s", name.encode(), IFF_TUN | IFF_NO_PI, b""))
    return fd


def put(packet, due, fd):
    global number
    number += 1
    heapq.heappush(waiting, (due, number, fd, packet))


def receive(packet, now):
    fd = devices.get(packet[16:20])
    if packet[0] >> 4 != 4 or fd is None:
        return
    way = directions.setdefault((packet[12:16], packet[16:20]), {"free": 0.0})
    if chance.random() < way.get("loss", 0):
        counts["lost"] += 1
        return
    due = now
    if way.get("rate"):
        due = max(now, way["free"]) + len(packet) / way["rate"]
        if due - now > QUEUE_SECONDS:
            counts["crowded"] += 1
            return
        way["free"] = due
    due += way.get("delayMs", 0) / 1000
    if chance.random() < way.get("reorder", 0):
        counts["reordered"] += 1
        due += chance.random() * OVERTAKEN_SECONDS
    put(packet, due, fd)
    if chance.random() < way.get("duplicate", 0):
        counts["duplicated"] += 1
        put(packet, due, fd)


def send(now):
    while waiting and waiting[0][0] <= now:
        _, _, fd, packet = heapq.heappop(waiting)
        counts["carried"] += 1
        try:
            os.write(fd, packet)
        except OSError:
            pass  # a device that is down takes nothing


def obey(line):
    order = json.loads(line)
    if "count" in order:
        print(json.dumps({**order, **counts}), flush=True)
        return
    way = (address(order.pop("from")), address(order.pop("to")))
    directions[way] = {**order, "free": 0.0}


def address(text):
    return bytes(int(part) for part in text.split("."))


for argument in sys.argv[2:]:
    name, at = argument.split("=")
    devices[address(at)] = open_device(name)
print("ready", flush=True)

orders = b""
while True:
    due = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
    readable, _, _ = select.select([0, *devices.values()], [], [], due)
    for fd in readable:
        if fd == 0:
            read = os.read(0, 65536)
            if not read:
                sys.exit()
            *lines, orders = (orders + read).split(b"\n")
            for line in lines:
                obey(line)
        else:
            receive(os.read(fd, MTU), time.monotonic())
    send(time.monotonic())
