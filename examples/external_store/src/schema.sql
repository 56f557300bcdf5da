-- The books. Other programs may read and write the first columns; `metadata` is what Kubernetes keeps of an object beside its fields,
-- and `version` is kept by the triggers.
CREATE TABLE IF NOT EXISTS books (
    namespace TEXT NOT NULL DEFAULT 'default',
    name      TEXT NOT NULL,
    title     TEXT NOT NULL,
    author    TEXT NOT NULL DEFAULT '',
    copies    INTEGER NOT NULL DEFAULT 1,
    metadata  TEXT NOT NULL DEFAULT '{}',
    version   INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (namespace, name)
);

-- The last changes, which watches are served from. Versions are never used twice.
CREATE TABLE IF NOT EXISTS changes (
    version  INTEGER PRIMARY KEY AUTOINCREMENT,
    kind     TEXT NOT NULL,
    object   TEXT NOT NULL,
    previous TEXT
);
-- The version of data that has not changed is 1, since 0 is "any version" to clients.
INSERT INTO sqlite_sequence (name, seq)
    SELECT 'changes', 1 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'changes');

CREATE TRIGGER IF NOT EXISTS book_created AFTER INSERT ON books BEGIN
    INSERT INTO changes (kind, object) VALUES ('created', json_object(
        'id', NEW.rowid, 'namespace', NEW.namespace, 'name', NEW.name, 'title', NEW.title,
        'author', NEW.author, 'copies', NEW.copies, 'metadata', NEW.metadata));
    UPDATE books SET version = (SELECT max(version) FROM changes) WHERE rowid = NEW.rowid;
END;

CREATE TRIGGER IF NOT EXISTS book_updated AFTER UPDATE OF title, author, copies, metadata ON books BEGIN
    INSERT INTO changes (kind, object, previous) VALUES ('updated', json_object(
        'id', NEW.rowid, 'namespace', NEW.namespace, 'name', NEW.name, 'title', NEW.title,
        'author', NEW.author, 'copies', NEW.copies, 'metadata', NEW.metadata), json_object(
        'id', OLD.rowid, 'namespace', OLD.namespace, 'name', OLD.name, 'title', OLD.title,
        'author', OLD.author, 'copies', OLD.copies, 'metadata', OLD.metadata, 'version', OLD.version));
    UPDATE books SET version = (SELECT max(version) FROM changes) WHERE rowid = NEW.rowid;
END;

CREATE TRIGGER IF NOT EXISTS book_deleted AFTER DELETE ON books BEGIN
    INSERT INTO changes (kind, object, previous) VALUES ('deleted', json_object(
        'id', OLD.rowid, 'namespace', OLD.namespace, 'name', OLD.name, 'title', OLD.title,
        'author', OLD.author, 'copies', OLD.copies, 'metadata', OLD.metadata), json_object(
        'id', OLD.rowid, 'namespace', OLD.namespace, 'name', OLD.name, 'title', OLD.title,
        'author', OLD.author, 'copies', OLD.copies, 'metadata', OLD.metadata, 'version', OLD.version));
END;

CREATE TRIGGER IF NOT EXISTS old_changes AFTER INSERT ON changes BEGIN
    DELETE FROM changes WHERE version <= NEW.version - 1000;
END;
