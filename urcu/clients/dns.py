# SPDX-License-Identifier: MIT
"""The part of DNS that asks for an address and changes it (RFC 1035, RFC 2136)."""
import random
import socket
import struct

A, SOA, ANY_CLASS, IN = 1, 6, 255, 1


def name_bytes(name):
    labels = [label.encode() for label in name.rstrip(".").split(".")]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def skip_name(message, at):
    while message[at]:
        if message[at] >= 0xc0:
            return at + 2
        at += 1 + message[at]
    return at + 1


class Server:
    """One that listens at 127.0.0.1."""

    def __init__(self, port):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(("127.0.0.1", port))
        self.socket.settimeout(2)

    def exchange(self, flags, counts, rest):
        """The answer to a message, or None if none comes."""
        number = random.randrange(65536)
        self.socket.send(struct.pack(">6H", number, flags, *counts) + rest)
        try:
            while True:
                answer = self.socket.recv(4096)
                if answer[:2] == struct.pack(">H", number):
                    return answer
        except OSError:  # nothing came, or no server listens
            return None

    def addresses(self, name):
        """The addresses of @name; returns None without an answer, or "RCODE n"."""
        question = name_bytes(name) + struct.pack(">2H", A, IN)
        answer = self.exchange(0x0100, (1, 0, 0, 0), question)
        if answer is None:
            return None
        if answer[3] & 15:
            return f"RCODE {answer[3] & 15}"
        count, = struct.unpack(">H", answer[6:8])
        at = skip_name(answer, 12) + 4
        found = []
        for _ in range(count):
            at = skip_name(answer, at)
            kind, _class, _ttl, size = struct.unpack(">2HIH", answer[at:at + 10])
            if kind == A:
                found.append(socket.inet_ntoa(answer[at + 10:at + 10 + size]))
            at += 10 + size
        return found

    def set_address(self, zone, name, address):
        """UPDATE: @name has @address and no other. Gives the RCODE, or None without an answer."""
        to_name = name_bytes(name)
        message = (name_bytes(zone) + struct.pack(">2H", SOA, IN)
                   + to_name + struct.pack(">2HIH", A, ANY_CLASS, 0, 0)
                   + to_name + struct.pack(">2HIH", A, IN, 60, 4) + socket.inet_aton(address))
        answer = self.exchange(0x2800, (1, 0, 2, 0), message)
        return None if answer is None else answer[3] & 15
