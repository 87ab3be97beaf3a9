"""Processes of one machine as the workers of a cluster; the tests of distributed training have theirs from here too."""

import json
import socket


def local_cluster(count):
    """The `TF_CONFIG` of each of `count` workers, at ports of the loopback address that are free."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    addresses = ["{}:{}".format(*s.getsockname()) for s in sockets]
    for s in sockets:
        s.close()
    return [json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}) for index in range(count)]
