-- Facts are only ever added. What changes while a run is going (its state) is a row more, and what is not a fact
-- (who works on what at the moment) is in leases and claims.

CREATE TABLE about (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE bodies (
    hash     BLOB PRIMARY KEY,
    encoding INTEGER NOT NULL,
    size     INTEGER NOT NULL,
    body     BLOB NOT NULL
);

CREATE TABLE runs (
    run   INTEGER PRIMARY KEY,
    id    TEXT NOT NULL UNIQUE,
    suite TEXT NOT NULL,
    body  BLOB NOT NULL
);

CREATE TABLE states (
    seq    INTEGER PRIMARY KEY,
    run    INTEGER NOT NULL REFERENCES runs (run),
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    at     TEXT NOT NULL
);

CREATE INDEX states_by_run ON states (run, seq);

CREATE TABLE cases (
    run     INTEGER NOT NULL REFERENCES runs (run),
    ordinal INTEGER NOT NULL,
    id      TEXT NOT NULL,
    hash    BLOB NOT NULL,
    PRIMARY KEY (run, id)
) WITHOUT ROWID;

CREATE UNIQUE INDEX cases_in_order ON cases (run, ordinal);

CREATE TABLE evidence (
    seq     INTEGER PRIMARY KEY,
    run     INTEGER NOT NULL REFERENCES runs (run),
    key     TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    variant INTEGER NOT NULL,
    repeat  INTEGER NOT NULL,
    ending  TEXT NOT NULL,
    ok      INTEGER NOT NULL,
    "case"  BLOB NOT NULL,
    hash    BLOB,
    body    BLOB,
    UNIQUE (run, key),
    CHECK ((hash IS NULL) <> (body IS NULL))
);

CREATE INDEX evidence_in_order ON evidence (run, ordinal, variant, repeat, key);

CREATE TABLE results (
    seq     INTEGER PRIMARY KEY,
    run     INTEGER NOT NULL REFERENCES runs (run),
    scoring TEXT NOT NULL,
    key     TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    variant INTEGER NOT NULL,
    repeat  INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    score   REAL,
    result  BLOB NOT NULL,
    hash    BLOB,
    scores  BLOB,
    UNIQUE (run, scoring, key),
    CHECK ((hash IS NULL) <> (scores IS NULL))
);

CREATE INDEX results_in_order ON results (run, scoring, ordinal, variant, repeat, key);

CREATE TABLE leases (
    run        INTEGER NOT NULL REFERENCES runs (run),
    owner      TEXT NOT NULL,
    space      TEXT NOT NULL,
    pid        INTEGER NOT NULL,
    started    TEXT NOT NULL,
    lease_s    REAL NOT NULL,
    until_mono REAL NOT NULL,
    until_wall REAL NOT NULL,
    PRIMARY KEY (run, owner)
) WITHOUT ROWID;

CREATE TABLE claims (
    run   INTEGER NOT NULL,
    key   TEXT NOT NULL,
    owner TEXT NOT NULL,
    PRIMARY KEY (run, key)
) WITHOUT ROWID;

CREATE INDEX claims_by_owner ON claims (run, owner);
