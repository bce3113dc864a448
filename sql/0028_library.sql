-- The library beyond the disk: which destinations were seen to hold which files of takes, byte for byte.
CREATE TABLE remote_copies (
  recording_id   TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  checksum       TEXT NOT NULL,               -- of the file, as recording_files has it
  destination_id TEXT NOT NULL REFERENCES upload_destinations (id) ON DELETE CASCADE,
  object_key     TEXT NOT NULL,
  etag           TEXT,                        -- as the store named it when the object was verified
  verified_at    TEXT NOT NULL,
  damaged_at     TEXT,                        -- since when the object is known to be lost or another one
  PRIMARY KEY (recording_id, checksum, destination_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX remote_copies_destination ON remote_copies (destination_id, recording_id, checksum);
-- What is nowhere but at destinations.
CREATE INDEX recording_files_remote ON recording_files (recording_id) WHERE local = 0;

-- Destinations that keep the library from now on, until what was sent there before is queued as a whole; `seq` names the last
-- recording that was looked at.
CREATE TABLE library_walks (
  destination_id TEXT PRIMARY KEY NOT NULL REFERENCES upload_destinations (id) ON DELETE CASCADE,
  seq            INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE TRIGGER library_begun AFTER UPDATE OF keeps_library ON upload_destinations
WHEN new.keeps_library = 1 AND old.keeps_library = 0 BEGIN
  INSERT INTO library_walks (destination_id) VALUES (new.id) ON CONFLICT DO UPDATE SET seq = 0;
END;

-- Uploads in parts that were begun, until it is known that none of their parts is left at the store. A row is written before
-- the store is asked, so that a crash leaves none that nobody knows of.
CREATE TABLE multipart_uploads (
  destination_id TEXT NOT NULL REFERENCES upload_destinations (id) ON DELETE CASCADE,
  object_key     TEXT NOT NULL,
  item_id        TEXT NOT NULL,               -- the last attempt's; the history outlives it
  begun_at       TEXT NOT NULL,
  PRIMARY KEY (destination_id, object_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX multipart_uploads_begun ON multipart_uploads (begun_at);
