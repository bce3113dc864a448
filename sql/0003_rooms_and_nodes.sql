CREATE TABLE rooms (
  id          TEXT PRIMARY KEY NOT NULL,
  site        TEXT NOT NULL,
  name        TEXT NOT NULL,
  building    TEXT,
  floor       TEXT,
  description TEXT,
  notes       TEXT,
  created_at  TEXT NOT NULL,
  updated_at  TEXT NOT NULL,
  UNIQUE (site, name)
) STRICT;

CREATE TABLE nodes (
  id             TEXT PRIMARY KEY NOT NULL,
  alias          TEXT NOT NULL,
  hostname       TEXT NOT NULL,
  site           TEXT NOT NULL,
  room           TEXT NOT NULL,
  building       TEXT,
  floor          TEXT,
  room_id        TEXT REFERENCES rooms (id) ON DELETE SET NULL,
  status         TEXT NOT NULL DEFAULT 'provisioning'
                 CHECK (status IN ('provisioning', 'online', 'degraded', 'recording', 'alerting', 'retired')), -- offline is derived at read
  agent_version  TEXT NOT NULL DEFAULT 'unknown',
  ip_addresses   TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(ip_addresses)),
  tags           TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags)),
  notes          TEXT,
  audio_defaults TEXT CHECK (audio_defaults IS NULL OR json_valid(audio_defaults)),
  runtime        TEXT CHECK (runtime IS NULL OR json_valid(runtime)),
  max_concurrent INTEGER CHECK (max_concurrent BETWEEN 1 AND 128),
  host_keys      TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(host_keys)), -- of its SSH server; from a bootstrap or an operator only
  last_seen_at   TEXT NOT NULL,
  created_at     TEXT NOT NULL,
  updated_at     TEXT NOT NULL
) STRICT;
CREATE INDEX nodes_site ON nodes (site);
CREATE INDEX nodes_room ON nodes (room_id);
CREATE INDEX nodes_alias ON nodes (alias, id);

CREATE TABLE interfaces (
  id            TEXT PRIMARY KEY NOT NULL,
  node_id       TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
  match_key     TEXT NOT NULL,                -- trimmed system ref, else system name: what the agent reported
  position      INTEGER NOT NULL,             -- order of first report; interfaces[0] decides the default device
  system_ref    TEXT NOT NULL,
  system_name   TEXT NOT NULL,
  alias         TEXT NOT NULL,
  backend       TEXT NOT NULL CHECK (backend IN ('alsa', 'jack', 'pipewire', 'unknown')),
  channel_count INTEGER NOT NULL CHECK (channel_count BETWEEN 0 AND 256),
  sample_rates  TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(sample_rates)),
  hardware_path TEXT,
  serial_number TEXT,
  absent        INTEGER NOT NULL DEFAULT 0 CHECK (absent IN (0, 1)),
  placeholder   INTEGER NOT NULL DEFAULT 0 CHECK (placeholder IN (0, 1)), -- entered by a person, not reported yet
  labelled      INTEGER NOT NULL DEFAULT 0 CHECK (labelled IN (0, 1)), -- an operator named it or one of its channels
  UNIQUE (node_id, match_key)
) STRICT;
CREATE INDEX interfaces_node ON interfaces (node_id, position);

CREATE TABLE channels (
  interface_id TEXT NOT NULL REFERENCES interfaces (id) ON DELETE CASCADE,
  idx          INTEGER NOT NULL CHECK (idx BETWEEN 1 AND 512),
  alias        TEXT NOT NULL,
  room_id      TEXT REFERENCES rooms (id) ON DELETE SET NULL,
  PRIMARY KEY (interface_id, idx)
) STRICT, WITHOUT ROWID;
CREATE INDEX channels_room ON channels (room_id);

-- How many channels of a node lie in a room of their own: a fleet has half a million channels, and who may see what
-- is asked with every request. Kept by the triggers below, whoever moves a channel.
CREATE TABLE room_channels (
  room_id TEXT NOT NULL REFERENCES rooms (id) ON DELETE CASCADE,
  node_id TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
  n       INTEGER NOT NULL CHECK (n >= 0),
  PRIMARY KEY (room_id, node_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX room_channels_node ON room_channels (node_id);

CREATE TRIGGER channel_enters AFTER INSERT ON channels WHEN NEW.room_id IS NOT NULL BEGIN
  INSERT INTO room_channels (room_id, node_id, n) SELECT NEW.room_id, node_id, 1 FROM interfaces WHERE id = NEW.interface_id
    ON CONFLICT (room_id, node_id) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER channel_leaves AFTER DELETE ON channels WHEN OLD.room_id IS NOT NULL BEGIN
  UPDATE room_channels SET n = n - 1
   WHERE room_id = OLD.room_id AND node_id = (SELECT node_id FROM interfaces WHERE id = OLD.interface_id);
END;
CREATE TRIGGER channel_moves AFTER UPDATE OF room_id ON channels WHEN OLD.room_id IS NOT NEW.room_id BEGIN
  UPDATE room_channels SET n = n - 1
   WHERE room_id = OLD.room_id AND node_id = (SELECT node_id FROM interfaces WHERE id = OLD.interface_id);
  INSERT INTO room_channels (room_id, node_id, n)
    SELECT NEW.room_id, node_id, 1 FROM interfaces WHERE id = NEW.interface_id AND NEW.room_id IS NOT NULL
    ON CONFLICT (room_id, node_id) DO UPDATE SET n = n + 1;
END;

-- A node's room union: every channel's own room, and the node's default room while a channel still inherits it. Channels
-- beyond the count are those a device does not tell of for now: they keep the room they were given, and inherit none.
CREATE VIEW node_rooms (node_id, room_id) AS
  SELECT node_id, room_id FROM room_channels WHERE n > 0
  UNION ALL
  SELECT n.id, n.room_id
    FROM nodes n
   WHERE n.room_id IS NOT NULL
     AND (EXISTS (SELECT 1 FROM interfaces i JOIN channels c ON c.interface_id = i.id WHERE i.node_id = n.id AND c.room_id IS NULL
                      AND c.idx <= i.channel_count)
          OR NOT EXISTS (SELECT 1 FROM interfaces i JOIN channels c ON c.interface_id = i.id WHERE i.node_id = n.id
                      AND c.idx <= i.channel_count));

CREATE TABLE room_roster (
  room_id      TEXT NOT NULL REFERENCES rooms (id) ON DELETE CASCADE,
  subject_type TEXT NOT NULL CHECK (subject_type IN ('user', 'group')),
  subject_id   TEXT NOT NULL,                 -- unknown subjects are accepted, so no foreign key
  capability   TEXT NOT NULL CHECK (capability IN ('view', 'listen', 'download', 'operate', 'book', 'edit', 'delete')),
  source       TEXT NOT NULL CHECK (source IN ('manual', 'calendar')),
  schedule_id  TEXT NOT NULL DEFAULT '',      -- '' for manual rows
  PRIMARY KEY (room_id, subject_type, subject_id, capability, source, schedule_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX room_roster_subject ON room_roster (subject_type, subject_id);
CREATE INDEX room_roster_schedule ON room_roster (schedule_id);

-- `pending`: minted for a deploy, becomes active when the agent first uses it (ADR-0006).
CREATE TABLE node_credentials (
  id           TEXT PRIMARY KEY NOT NULL,
  node_id      TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
  token_hash   TEXT NOT NULL UNIQUE,
  token_prefix TEXT NOT NULL,
  state        TEXT NOT NULL CHECK (state IN ('active', 'pending', 'revoked')),
  created_by   TEXT REFERENCES users (id) ON DELETE SET NULL,
  created_at   TEXT NOT NULL,
  last_used_at TEXT,
  revoked_at   TEXT
) STRICT;
CREATE INDEX node_credentials_node ON node_credentials (node_id, state);
CREATE INDEX node_credentials_creator ON node_credentials (created_by);
CREATE UNIQUE INDEX one_active_credential ON node_credentials (node_id) WHERE state = 'active';
CREATE UNIQUE INDEX one_pending_credential ON node_credentials (node_id) WHERE state = 'pending';

CREATE TABLE bootstrap_tokens (
  token_hash   TEXT PRIMARY KEY NOT NULL,
  token_prefix TEXT NOT NULL,
  node_id      TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
  created_by   TEXT REFERENCES users (id) ON DELETE CASCADE, -- NULL: the controller itself
  created_at   TEXT NOT NULL,
  expires_at   TEXT NOT NULL,
  consumed_at  TEXT,
  revoked_at   TEXT
) STRICT;
CREATE INDEX bootstrap_tokens_node ON bootstrap_tokens (node_id);
CREATE INDEX bootstrap_tokens_creator ON bootstrap_tokens (created_by);

-- `previous`: replaced by rotation or bootstrap, kept until the node is known to hold the new key (ADR-0006).
CREATE TABLE ssh_credentials (
  id          TEXT PRIMARY KEY NOT NULL,
  node_id     TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
  state       TEXT NOT NULL CHECK (state IN ('active', 'previous', 'revoked')),
  username    TEXT NOT NULL,
  public_key  TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  sealed_key  TEXT,                           -- AES-256-GCM, bound to this row; erased on revocation
  created_at  TEXT NOT NULL,
  rotated_at  TEXT,
  revoked_at  TEXT,
  confirmed_at TEXT,                          -- since when the node is known to hold it
  confirmed_by TEXT REFERENCES node_credentials (id) ON DELETE SET NULL -- the token whose first use says so
) STRICT;
CREATE INDEX ssh_credentials_node ON ssh_credentials (node_id, state);
CREATE INDEX ssh_credentials_token ON ssh_credentials (confirmed_by);
CREATE UNIQUE INDEX one_active_ssh_key ON ssh_credentials (node_id) WHERE state = 'active';
