# SPDX-License-Identifier: Apache-2.0
"""Changes of a run's database by SQL, and the checksums and totals that make a change look written."""
import sqlite3
import struct
import zlib

COLUMNS = {
    "facts": "key, value",
    "snapshots": "step, time",
    "scalars": "name, layer, step, value, lower, upper, n, n_effective, status, attributes",
    "arrays": "name, layer, step, dtype, shape, data",
    "events": "step, time, kind, message",
    "verdicts": "claim, outcome, condition, json, time",
    "totals": "of, name, layer, rows, sum",
}
VALUES = [None, 0, 1, -1, 2**63 - 1, -(2**63), 1e308, -1e308, 5e-324, float("inf"), 0.5, "", "x", "\x1b[31mred\u202e",
          "<script>alert(1)</script>", "../../x", "[1, 2]", "[4294967296, 4294967296]", "{" * 600, "y" * 5000, b"",
          b"\0\xff" * 9, "<f8", "inf", "unresolved", "hessian/lambda_1", "loss/train", "finished", "running"]


def row_crc(*values):
    """CRC-32 over the type, length and bytes of each value, as src/store/rows/row_checksum.cpp."""
    crc = 0
    for value in values:
        if value is None:
            piece = b"\5"
        elif isinstance(value, int):
            piece = b"\1" + struct.pack("<q", value)
        elif isinstance(value, float):
            piece = b"\2" + struct.pack("<d", value + 0.0)
        else:
            content = value.encode(errors="surrogateescape") if isinstance(value, str) else value
            piece = (b"\3" if isinstance(value, str) else b"\4") + struct.pack("<q", len(content)) + content
        crc = zlib.crc32(piece, crc)
    return crc


def opened(database):
    sql = sqlite3.connect(database, isolation_level=None)
    sql.text_factory = lambda content: content.decode(errors="surrogateescape")
    sql.create_function("row_crc", -1, row_crc)
    sql.execute("PRAGMA journal_mode = DELETE")
    return sql


def change_rows(sql, chance):
    """One change of one table; what it was, and whether a reader must tell it without new checksums."""
    table = chance.choice([name for name in COLUMNS if sql.execute(f"SELECT count(*) FROM {name}").fetchone()[0]])
    columns = COLUMNS[table].split(", ")
    rows = [row for (row,) in sql.execute(f"SELECT rowid FROM {table}" if has_rowid(sql, table) else "SELECT 0")]
    where = chance.choice(["1", f"rowid = {chance.choice(rows)}" if rows != [0] else "1"])
    kind = chance.choice(["set", "set", "set", "delete", "swap", "copy"])
    before = fingerprint(sql, table)
    column = chance.choice(columns)
    value = chance.choice(VALUES)
    statement = {
        "set": f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {where}",
        "delete": f"DELETE FROM {table} WHERE {where} AND ? IS ?1",
        "swap": f"UPDATE OR IGNORE {table} SET {column} = (SELECT {column} FROM {table} ORDER BY random() LIMIT 1) "
                f"WHERE {where} AND ? IS ?1",
        "copy": f"INSERT OR IGNORE INTO {table}({COLUMNS[table]}, crc) SELECT "
                f"{', '.join('?' if name == column else name for name in columns)}, crc FROM {table} WHERE {where}",
    }[kind]
    try:
        sql.execute(statement, (value,))
    except (sqlite3.Error, OverflowError) as error:
        return f"{kind} {table}.{column}: refused by SQLite: {error}", False
    shown = repr(value) if kind in ("set", "copy") else ""
    return f"{kind} {table}.{column} {shown[:40]} where {where}", fingerprint(sql, table) != before


def has_rowid(sql, table):
    try:
        sql.execute(f"SELECT rowid FROM {table} LIMIT 1")
    except sqlite3.OperationalError:
        return False
    return True


def fingerprint(sql, table):
    return sorted(repr(row) for row in sql.execute(f"SELECT {COLUMNS[table]} FROM {table}"))


def forge(sql):
    """Right checksums and totals for whatever stands in the tables."""
    for table, columns in COLUMNS.items():
        if table != "totals":
            sql.execute(f"UPDATE {table} SET crc = row_crc({columns})")
    sql.execute("DELETE FROM totals")
    for table in COLUMNS:
        if table == "totals":
            continue
        series = "name, layer" if table in ("scalars", "arrays") else "'', ''"
        sql.execute(f"INSERT OR IGNORE INTO totals SELECT of, name, layer, rows, sum, row_crc(of, name, layer, rows, sum) FROM "
                    f"(SELECT '{table}' AS of, {series.replace(', ', ' AS name, ')} AS layer, count(*) AS rows, "
                    f"sum(crc) AS sum FROM {table} GROUP BY 2, 3)")


def change_schema(sql, chance):
    """A table or a view that is not as this program makes it."""
    table = chance.choice(list(COLUMNS))
    statement = chance.choice([
        f"DROP TABLE {table}", f"ALTER TABLE {table} RENAME TO other", f"ALTER TABLE {table} ADD COLUMN more DEFAULT 7",
        f"CREATE TRIGGER t AFTER INSERT ON {table} BEGIN DELETE FROM facts; END",
        f"ALTER TABLE {table} RENAME TO hidden; CREATE VIEW {table} AS SELECT * FROM hidden",
        f"ALTER TABLE {table} RENAME TO hidden; CREATE TABLE {table} AS SELECT * FROM hidden",
        f"CREATE INDEX strange ON {table}(crc)", "PRAGMA user_version = 99", "PRAGMA user_version = 0",
        "PRAGMA user_version = 2", "PRAGMA application_id = 1", "CREATE VIRTUAL TABLE f USING fts5(x)",
    ])
    sql.executescript(statement)
    return statement
