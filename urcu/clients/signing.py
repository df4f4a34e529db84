# SPDX-License-Identifier: MIT
"""Tools of Knot and of BIND that sign a zone with many threads, and that check what was signed."""
from client import Client, Result
from load import zone_text
from room import tool

ZONE = "zone.test"


def judge_zone(room, file, names, result):
    """Each name has a signature of its address."""
    text = room.said(file)
    signed = sum("RRSIG" in line and (" A " in line or "\tA " in line) for line in text.splitlines())
    if signed < names:
        result.wrong.append(f"{signed} addresses of {names} are signed")
    result.checked += signed


def knot(room, how):
    """kzonesign signs in parallel, and kzonecheck must find a fault that was put in."""
    result = Result()
    names = how.names // 4
    room.write("/state/knot.conf", f"database:\n    storage: /state/db\npolicy:\n  - id: p\n    signing-threads: 4\n    "
               f"single-type-signing: on\nzone:\n  - domain: {ZONE}\n    storage: /state\n    file: zone\n    "
               "dnssec-signing: on\n    dnssec-policy: p\n")
    room.write("/state/zone", zone_text(ZONE, names))
    for name in ("/state/out", "/state/db"):
        room.path(name).mkdir()
    tool(room, result.wrong, "keymgr", "-c", "/state/knot.conf", ZONE, "generate", "ksk=yes", "zsk=yes", client=True)
    tool(room, result.wrong, "kzonesign", "-c", "/state/knot.conf", "-o", "/state/out", ZONE, client=True)
    found = [path.name for path in room.path("/state/out").iterdir()]
    if len(found) != 1:
        result.wrong.append(f"kzonesign has written {found}")
        return result
    signed = f"/state/out/{found[0]}"
    judge_zone(room, signed, names, result)
    tool(room, result.wrong, "kzonecheck", "-o", ZONE, signed, client=True)
    room.write("/state/bad", room.said(signed) + f"\nextra.{ZONE}. 60 CNAME a.\nextra.{ZONE}. 60 A 10.0.0.1\n")
    tool(room, result.wrong, "kzonecheck", "-o", ZONE, "/state/bad", statuses=(1,), client=True)
    said = tool(room, result.wrong, "keymgr", "-c", "/state/knot.conf", ZONE, "list", client=True)
    if "ECDSAP256SHA256" not in said and " 13 " not in said:
        result.wrong.append(f"keymgr lists no key: {said[-200:]}")
    return result


def bind(room, how):
    """dnssec-signzone signs in parallel; dnssec-verify must refuse a zone that was changed behind that."""
    result = Result()
    names = how.names // 4
    room.write("/state/zone", zone_text(ZONE, names))
    for flags in ([], ["-f", "KSK"]):
        tool(room, result.wrong, "dnssec-keygen", "-q", "-K", "/state", "-a", "ECDSAP256SHA256", *flags, ZONE, client=True)
    tool(room, result.wrong, "dnssec-signzone", "-q", "-n", 4, "-S", "-K", "/state", "-o", ZONE, "-f", "/state/signed",
         "/state/zone", client=True)
    text = room.said("/state/signed").replace("\n\t\t\t\t\t", " ")
    room.write("/state/signed.flat", text)
    signed = sum("RRSIG\tA " in line for line in text.splitlines())
    result.checked += signed
    if signed < names:
        result.wrong.append(f"{signed} addresses of {names} are signed")
    tool(room, result.wrong, "dnssec-verify", "-q", "-o", ZONE, "/state/signed", client=True)
    room.write("/state/bad", room.said("/state/signed") + f"\nextra.{ZONE}. 60 A 10.0.0.1\n")
    tool(room, result.wrong, "dnssec-verify", "-q", "-o", ZONE, "/state/bad", statuses=(1,), client=True)
    tool(room, result.wrong, "named-checkzone", "-q", ZONE, "/state/zone", client=True)
    return result


CLIENTS = [
    Client("kzonesign", "bookworm", "knot-dnssecutils", ("knot", "knot-dnssecutils", "knot-dnsutils"), "called",
           "a zone signed by four threads, kzonecheck of a good and a bad zone, keymgr", knot),
    Client("dnssec-signzone", "trixie", "bind9-utils", ("bind9-utils",), "called",
           "a zone signed by four threads, dnssec-verify of a good and a bad zone, named-checkzone", bind),
]
