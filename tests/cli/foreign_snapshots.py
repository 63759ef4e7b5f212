"""Snapshots as other programs write them, for tests."""

import struct

try:
    import numpy as np
except ImportError:
    np = None
try:
    import h5py
except ImportError:
    h5py = None


def binary_snapshot(order="<", named=False, counts=(0, 3, 2, 0, 0, 0), table=(0, 0.5, 0, 0, 0, 0), real="f4", ids="u4", **header):
    """A GADGET binary file, written from the users' guide of GADGET-2 and not from Pergola's source. Type 1 has its
    mass in the table, type 2 in the MASS block."""
    n = sum(counts)
    rng = np.random.default_rng(3)
    pos = rng.normal(size=(n, 3)).astype(order + real)
    vel = rng.normal(size=(n, 3)).astype(order + real)
    first = header.get("first_id", 11)
    ident = np.arange(first, first + n).astype(order + ids)
    listed = sum(c for c, m in zip(counts, table) if m == 0)
    mass = rng.uniform(1, 2, size=listed).astype(order + real)
    totals = header.get("totals", counts)
    head = struct.pack(
        order + "6i6dddii6IiiddddII6Ii",
        *counts, *table, header.get("time", 0.75), header.get("redshift", 0.0), 0, 0, *totals, 0, header.get("num_files", 1),
        header.get("box", 0.0), 0.0, 0.0, 0.0, 0, 0, *header.get("high", (0,) * 6), 0)
    head += b"\0" * (256 - len(head))
    out = b""
    blocks = [(b"HEAD", head), (b"POS ", pos.tobytes()), (b"VEL ", vel.tobytes()), (b"ID  ", ident.tobytes())]
    if listed:
        blocks.append((b"MASS", mass.tobytes()))
    for name, data in blocks:
        if named:
            out += struct.pack(order + "i4sii", 8, name, len(data) + 8, 8)
        out += struct.pack(order + "I", len(data)) + data + struct.pack(order + "I", len(data))
    masses = []
    for count, entry in zip(counts, table):
        masses += [entry] * count if entry else list(mass[: count])
    return out, pos, vel, ident, np.array(masses, dtype=float)


def five_particles():
    rng = np.random.default_rng(5)
    return {"Coordinates": rng.normal(size=(5, 3)), "Velocities": rng.normal(size=(5, 3)), "ParticleIDs": np.arange(1, 6, dtype="u8"),
            "Masses": np.full(5, 0.2)}


def write_hdf5(path, fields, counts=(0, 5, 0, 0, 0, 0), totals=None, files=1, table=(0,) * 6, **header):
    """A snapshot as another program would write it."""
    with h5py.File(path, "w") as file:
        attributes = file.create_group("Header").attrs
        attributes["NumPart_ThisFile"] = np.array(counts, dtype="i4")
        attributes["NumPart_Total"] = np.array(counts if totals is None else totals, dtype="u4")
        attributes["MassTable"] = np.array(table, dtype="f8")
        attributes["Time"] = 0.5
        attributes["NumFilesPerSnapshot"] = files
        for name, value in header.items():
            attributes[name] = value
        group = file.create_group("PartType1")
        for name, value in fields.items():
            group[name] = value
