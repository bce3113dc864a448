# Stands for the service manager: prints each datagram of its socket as a line of JSON, and lets senders go on.
import array, json, os, socket, sys

receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
receiver.bind(sys.argv[1])
print(json.dumps(["listening"]), flush=True)
while True:
    message, ancillary, _, _ = receiver.recvmsg(4096, 4096)
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            for descriptor in array.array("i", data[: len(data) - len(data) % 4]):
                os.close(descriptor)
    print(json.dumps(message.decode().split("\n")), flush=True)
