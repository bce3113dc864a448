-- Links that open the wall, and nothing else: of a site, or of some rooms. Revoking one deletes it with its screens.
CREATE TABLE display_links (
  id           TEXT PRIMARY KEY NOT NULL,
  name         TEXT NOT NULL,
  token_hash   TEXT NOT NULL UNIQUE,          -- SHA-256 of the token, never the token
  site         TEXT,
  expires_at   TEXT,                          -- NULL: until it is revoked
  created_at   TEXT NOT NULL,
  created_by   TEXT NOT NULL,                 -- e-mail, as it was
  maker_id     TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  last_used_at TEXT
) STRICT;
CREATE INDEX display_links_maker ON display_links (maker_id);

CREATE TABLE display_link_rooms (
  link_id TEXT NOT NULL REFERENCES display_links (id) ON DELETE CASCADE,
  room_id TEXT NOT NULL REFERENCES rooms (id) ON DELETE CASCADE,
  PRIMARY KEY (link_id, room_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX display_link_rooms_room ON display_link_rooms (room_id);

-- Browsers that were opened by a link; they last as long as it.
CREATE TABLE display_screens (
  id           TEXT PRIMARY KEY NOT NULL,
  link_id      TEXT NOT NULL REFERENCES display_links (id) ON DELETE CASCADE,
  token_hash   TEXT NOT NULL UNIQUE,
  created_at   TEXT NOT NULL,
  last_seen_at TEXT NOT NULL
) STRICT;
CREATE INDEX display_screens_link ON display_screens (link_id, created_at);
