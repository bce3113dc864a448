-- The schema as all migrations leave it. Made by test/guards/schema.update.ts; not run by anything.

CREATE TABLE access_groups (
  id          TEXT PRIMARY KEY NOT NULL,
  name        TEXT NOT NULL,
  description TEXT,
  created_at  TEXT NOT NULL,
  updated_at  TEXT NOT NULL
) STRICT;

CREATE TABLE access_policies (
  id            TEXT PRIMARY KEY NOT NULL,
  position      INTEGER NOT NULL,
  effect        TEXT NOT NULL CHECK (effect IN ('allow', 'deny')),
  subject_type  TEXT NOT NULL CHECK (subject_type IN ('user', 'group', 'everyone')),
  subject_id    TEXT,
  resource_type TEXT NOT NULL,
  resource_id   TEXT NOT NULL,
  reason        TEXT
) STRICT;

CREATE TABLE audit_events (
  seq            INTEGER PRIMARY KEY AUTOINCREMENT,
  id             TEXT NOT NULL UNIQUE,
  created_at     TEXT NOT NULL,
  action         TEXT NOT NULL,
  outcome        TEXT NOT NULL CHECK (outcome IN ('allowed', 'denied', 'succeeded', 'failed', 'partial')),
  permission     TEXT,
  reason         TEXT,
  actor_type     TEXT NOT NULL CHECK (actor_type IN ('node', 'system', 'user')),
  actor_id       TEXT NOT NULL,
  actor_name     TEXT NOT NULL,
  actor_roles    TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(actor_roles)),
  ip_address     TEXT,
  session_id     TEXT,
  user_agent     TEXT,
  target_type    TEXT NOT NULL,
  target_id      TEXT,
  target_name    TEXT,
  details        TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(details)),
  before         TEXT CHECK (before IS NULL OR json_valid(before)),
  after          TEXT CHECK (after IS NULL OR json_valid(after)),
  correlation    TEXT CHECK (correlation IS NULL OR json_valid(correlation))
) STRICT;

CREATE TABLE audit_retention_gate (
  only_row       INTEGER PRIMARY KEY CHECK (only_row = 1),
  delete_before  TEXT NOT NULL
) STRICT;

CREATE TABLE bootstrap_tokens (
  token_hash   TEXT PRIMARY KEY NOT NULL,
  token_prefix TEXT NOT NULL,
  node_id      TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
  created_by   TEXT REFERENCES users (id) ON DELETE SET NULL,
  created_at   TEXT NOT NULL,
  expires_at   TEXT NOT NULL,
  consumed_at  TEXT
) STRICT;

CREATE TABLE channels (
  interface_id TEXT NOT NULL REFERENCES interfaces (id) ON DELETE CASCADE,
  idx          INTEGER NOT NULL CHECK (idx BETWEEN 1 AND 512),
  alias        TEXT NOT NULL,
  room_id      TEXT REFERENCES rooms (id) ON DELETE SET NULL,
  PRIMARY KEY (interface_id, idx)
) STRICT, WITHOUT ROWID;

CREATE TABLE controller_state (
  key        TEXT PRIMARY KEY NOT NULL,
  value      TEXT NOT NULL CHECK (json_valid(value)),
  updated_at TEXT NOT NULL
) STRICT;

CREATE TABLE group_members (
  group_id TEXT NOT NULL REFERENCES access_groups (id) ON DELETE CASCADE,
  user_id  TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  PRIMARY KEY (group_id, user_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE health_events (
  id               TEXT PRIMARY KEY NOT NULL,
  type             TEXT NOT NULL,
  severity         TEXT NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
  status           TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'acknowledged', 'suppressed', 'resolved')),
  node_id          TEXT,
  recording_id     TEXT,
  schedule_id      TEXT,
  local_event_id   TEXT,                      -- the agent's own id: a resent event is the same event (decision 9)
  opened_at        TEXT NOT NULL,
  acknowledged_at  TEXT,
  acknowledged_by  TEXT,
  suppressed_at    TEXT,
  suppressed_by    TEXT,
  suppressed_until TEXT,
  resolved_at      TEXT,
  resolved_by      TEXT,
  details          TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(details))
) STRICT;

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
  UNIQUE (node_id, match_key)
) STRICT;

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
                 CHECK (status IN ('provisioning', 'online', 'degraded', 'recording', 'alerting')), -- offline is derived at read
  agent_version  TEXT NOT NULL DEFAULT 'unknown',
  ip_addresses   TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(ip_addresses)),
  tags           TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags)),
  notes          TEXT,
  audio_defaults TEXT CHECK (audio_defaults IS NULL OR json_valid(audio_defaults)),
  runtime        TEXT CHECK (runtime IS NULL OR json_valid(runtime)),
  max_concurrent INTEGER CHECK (max_concurrent BETWEEN 1 AND 128),
  last_seen_at   TEXT NOT NULL,
  created_at     TEXT NOT NULL,
  updated_at     TEXT NOT NULL
) STRICT;

CREATE TABLE recording_files (
  recording_id     TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  rendition        TEXT NOT NULL CHECK (rendition IN ('primary', 'raw', 'enhanced')),
  path             TEXT NOT NULL UNIQUE,      -- relative to the takes directory
  checksum         TEXT NOT NULL,             -- sha256:<hex>, computed here while receiving
  size_bytes       INTEGER NOT NULL CHECK (size_bytes > 0),
  mime_type        TEXT NOT NULL,
  duration_seconds INTEGER,
  job_id           TEXT,
  stored_at        TEXT NOT NULL,
  PRIMARY KEY (recording_id, rendition)
) STRICT, WITHOUT ROWID;

CREATE TABLE recording_jobs (
  id                TEXT PRIMARY KEY NOT NULL,
  recording_id      TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  node_id           TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
  status            TEXT NOT NULL CHECK (status IN ('queued', 'running', 'stop_requested', 'cancelled', 'completed', 'failed')),
  command           TEXT NOT NULL CHECK (json_valid(command)),
  capture_backend   TEXT GENERATED ALWAYS AS (coalesce(json_extract(command, '$.captureBackend'), 'alsa')) STORED,
  capture_interface TEXT GENERATED ALWAYS AS (json_extract(command, '$.captureInterfaceId')) STORED,
  capture_group     TEXT GENERATED ALWAYS AS (json_extract(command, '$.captureGroupId')) STORED,
  created_at        TEXT NOT NULL,
  claimed_by        TEXT,
  started_at        TEXT,
  confirmed_at      TEXT,                     -- first job heartbeat: the agent surely holds the claim
  last_heartbeat_at TEXT,
  lease_expires_at  TEXT,
  stop_requested_at TEXT,
  completed_at      TEXT,
  failure_reason    TEXT
) STRICT;

CREATE TABLE recording_profiles (
  id                TEXT PRIMARY KEY NOT NULL,
  name              TEXT NOT NULL,
  codec             TEXT NOT NULL CHECK (codec IN ('mp3', 'flac', 'wav')),
  bitrate_kbps      INTEGER NOT NULL CHECK (bitrate_kbps BETWEEN 1 AND 512),
  vbr               INTEGER NOT NULL CHECK (vbr IN (0, 1)),
  channel_mode      TEXT NOT NULL CHECK (channel_mode IN ('mono', 'stereo', 'mono_to_stereo_mix', 'multichannel')),
  silence_detection INTEGER NOT NULL CHECK (silence_detection IN (0, 1)),
  silence_skip      INTEGER NOT NULL CHECK (silence_skip IN (0, 1)),
  chunk_seconds     INTEGER,
  max_track_seconds INTEGER,
  enhancement       TEXT CHECK (enhancement IS NULL OR json_valid(enhancement)),
  created_at        TEXT NOT NULL,
  updated_at        TEXT NOT NULL
) STRICT;

CREATE TABLE recording_tags (
  recording_id TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  position     INTEGER NOT NULL,
  tag          TEXT NOT NULL COLLATE NOCASE,
  PRIMARY KEY (recording_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE recording_upload_policies (
  recording_id TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  position     INTEGER NOT NULL,
  policy_id    TEXT NOT NULL REFERENCES upload_policies (id) ON DELETE CASCADE,
  PRIMARY KEY (recording_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE recordings (
  id                   TEXT PRIMARY KEY NOT NULL,
  name                 TEXT NOT NULL,
  folder               TEXT NOT NULL,
  notes                TEXT,
  transcript_snippets  TEXT CHECK (transcript_snippets IS NULL OR json_valid(transcript_snippets)),
  source               TEXT NOT NULL CHECK (source IN ('ad_hoc', 'schedule')),
  status               TEXT NOT NULL CHECK (status IN ('queued', 'recording', 'completed', 'failed', 'cached', 'uploaded', 'partial')),
  health_status        TEXT NOT NULL DEFAULT 'unknown' CHECK (health_status IN ('healthy', 'warning', 'critical', 'unknown')),
  recorded_at          TEXT NOT NULL,
  duration_seconds     INTEGER NOT NULL DEFAULT 0 CHECK (duration_seconds >= 0),
  node_id              TEXT REFERENCES nodes (id) ON DELETE SET NULL,
  room_id              TEXT REFERENCES rooms (id) ON DELETE SET NULL,  -- frozen at creation
  schedule_id          TEXT REFERENCES schedules (id) ON DELETE SET NULL,
  recording_profile_id TEXT REFERENCES recording_profiles (id) ON DELETE SET NULL,
  retention_policy_id  TEXT REFERENCES retention_policies (id) ON DELETE SET NULL,
  watchdog_policy_id   TEXT REFERENCES watchdog_policies (id) ON DELETE SET NULL,
  updated_at           TEXT NOT NULL
) STRICT;

CREATE TABLE retention_policies (
  id                         TEXT PRIMARY KEY NOT NULL,
  name                       TEXT NOT NULL,
  scope                      TEXT NOT NULL CHECK (scope IN ('controller_cache', 'recorder_cache')),
  action                     TEXT NOT NULL CHECK (action IN ('keep', 'delete_cache')),
  enabled                    INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  max_age_days               INTEGER,
  max_bytes                  INTEGER,
  min_free_disk_percent      INTEGER,
  delete_only_after_uploaded INTEGER NOT NULL CHECK (delete_only_after_uploaded IN (0, 1)),
  preserve_tagged            INTEGER NOT NULL CHECK (preserve_tagged IN (0, 1)),
  updated_at                 TEXT NOT NULL
) STRICT;

CREATE TABLE room_roster (
  room_id      TEXT NOT NULL REFERENCES rooms (id) ON DELETE CASCADE,
  subject_type TEXT NOT NULL CHECK (subject_type IN ('user', 'group')),
  subject_id   TEXT NOT NULL,                 -- unknown subjects are accepted, so no foreign key
  capability   TEXT NOT NULL CHECK (capability IN ('view', 'listen', 'download', 'operate', 'book', 'edit', 'delete')),
  source       TEXT NOT NULL CHECK (source IN ('manual', 'calendar')),
  schedule_id  TEXT NOT NULL DEFAULT '',      -- '' for manual rows
  PRIMARY KEY (room_id, subject_type, subject_id, capability, source, schedule_id)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE schedules (
  id                  TEXT PRIMARY KEY NOT NULL,
  name                TEXT NOT NULL,
  node_id             TEXT REFERENCES nodes (id) ON DELETE SET NULL,
  room_id             TEXT REFERENCES rooms (id) ON DELETE RESTRICT,
  created_at          TEXT NOT NULL,
  updated_at          TEXT NOT NULL
) STRICT;

CREATE TABLE sessions (
  id           TEXT PRIMARY KEY NOT NULL,
  user_id      TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  token_hash   TEXT NOT NULL UNIQUE,          -- SHA-256 of the token, never the token
  created_at   TEXT NOT NULL,
  last_seen_at TEXT NOT NULL,
  expires_at   TEXT NOT NULL,
  revoked_at   TEXT,
  ip_address   TEXT,
  user_agent   TEXT
) STRICT;

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
  revoked_at  TEXT
) STRICT;

CREATE TABLE upload_policies (
  id                        TEXT PRIMARY KEY NOT NULL,
  name                      TEXT NOT NULL,
  destination_id            TEXT,
  enabled                   INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  trigger_kind              TEXT NOT NULL CHECK (trigger_kind IN ('manual', 'on_recording_cached')),
  max_attempts              INTEGER NOT NULL CHECK (max_attempts BETWEEN 1 AND 100),
  path_override             TEXT,
  delete_cache_after_upload INTEGER NOT NULL CHECK (delete_cache_after_upload IN (0, 1)),
  updated_at                TEXT NOT NULL
) STRICT;

CREATE TABLE user_grants (
  user_id       TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  resource_type TEXT NOT NULL,
  resource_id   TEXT NOT NULL,
  PRIMARY KEY (user_id, resource_type, resource_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE user_roles (
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  role    TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'operator', 'viewer', 'auditor')),
  PRIMARY KEY (user_id, role)
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
  id            TEXT PRIMARY KEY NOT NULL,
  email         TEXT NOT NULL UNIQUE CHECK (email = lower(email)),
  name          TEXT NOT NULL,
  password_hash TEXT,
  provider      TEXT NOT NULL DEFAULT 'local' CHECK (provider IN ('local', 'oidc')),
  external_id   TEXT UNIQUE,
  disabled_at   TEXT,
  created_at    TEXT NOT NULL,
  updated_at    TEXT NOT NULL
) STRICT;

CREATE TABLE watchdog_policies (
  id         TEXT PRIMARY KEY NOT NULL,
  name       TEXT NOT NULL,
  rules      TEXT NOT NULL CHECK (json_valid(rules)), -- thresholds and modes: stored and returned whole
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;

CREATE VIEW node_rooms (node_id, room_id) AS
  SELECT i.node_id, c.room_id
    FROM channels c JOIN interfaces i ON i.id = c.interface_id
   WHERE c.room_id IS NOT NULL
  UNION ALL
  SELECT n.id, n.room_id
    FROM nodes n
   WHERE n.room_id IS NOT NULL
     AND (EXISTS (SELECT 1 FROM interfaces i JOIN channels c ON c.interface_id = i.id WHERE i.node_id = n.id AND c.room_id IS NULL)
          OR NOT EXISTS (SELECT 1 FROM interfaces i JOIN channels c ON c.interface_id = i.id WHERE i.node_id = n.id));

CREATE INDEX access_policies_subject ON access_policies (subject_type, subject_id);

CREATE INDEX audit_action ON audit_events (action, created_at);

CREATE INDEX audit_actor ON audit_events (actor_id, created_at);

CREATE INDEX audit_created ON audit_events (created_at);

CREATE INDEX audit_outcome ON audit_events (outcome, created_at);

CREATE INDEX audit_permission ON audit_events (permission, created_at);

CREATE INDEX audit_target ON audit_events (target_type, target_id, created_at);

CREATE INDEX bootstrap_tokens_creator ON bootstrap_tokens (created_by);

CREATE INDEX bootstrap_tokens_node ON bootstrap_tokens (node_id);

CREATE INDEX channels_room ON channels (room_id);

CREATE INDEX group_members_user ON group_members (user_id);

CREATE UNIQUE INDEX health_local_event ON health_events (node_id, local_event_id) WHERE local_event_id IS NOT NULL;

CREATE INDEX health_node ON health_events (node_id, opened_at);

CREATE INDEX health_opened ON health_events (opened_at, id);

CREATE INDEX health_recording ON health_events (recording_id, status);

CREATE INDEX health_status ON health_events (status, severity, opened_at);

CREATE INDEX interfaces_node ON interfaces (node_id, position);

CREATE INDEX jobs_backend ON recording_jobs (capture_backend, created_at);

CREATE INDEX jobs_created ON recording_jobs (created_at, id);

CREATE INDEX jobs_interface ON recording_jobs (capture_interface, created_at);

CREATE INDEX jobs_lease ON recording_jobs (lease_expires_at) WHERE status IN ('running', 'stop_requested');

CREATE INDEX jobs_node ON recording_jobs (node_id, status, created_at);

CREATE INDEX jobs_recording ON recording_jobs (recording_id, created_at);

CREATE INDEX jobs_status ON recording_jobs (status, created_at);

CREATE INDEX node_credentials_creator ON node_credentials (created_by);

CREATE INDEX node_credentials_node ON node_credentials (node_id, state);

CREATE INDEX nodes_alias ON nodes (alias, id);

CREATE INDEX nodes_room ON nodes (room_id);

CREATE INDEX nodes_site ON nodes (site);

CREATE UNIQUE INDEX one_active_credential ON node_credentials (node_id) WHERE state = 'active';

CREATE UNIQUE INDEX one_active_job ON recording_jobs (recording_id) WHERE status IN ('queued', 'running', 'stop_requested');

CREATE UNIQUE INDEX one_active_ssh_key ON ssh_credentials (node_id) WHERE state = 'active';

CREATE UNIQUE INDEX one_pending_credential ON node_credentials (node_id) WHERE state = 'pending';

CREATE UNIQUE INDEX one_previous_ssh_key ON ssh_credentials (node_id) WHERE state = 'previous';

CREATE INDEX recording_tags_tag ON recording_tags (tag, recording_id);

CREATE INDEX recording_upload_policies_policy ON recording_upload_policies (policy_id, recording_id);

CREATE INDEX recordings_duration ON recordings (duration_seconds, id);

CREATE INDEX recordings_folder ON recordings (folder COLLATE NOCASE, id);

CREATE INDEX recordings_health ON recordings (health_status, recorded_at);

CREATE INDEX recordings_name ON recordings (name COLLATE NOCASE, id);

CREATE INDEX recordings_node ON recordings (node_id, recorded_at);

CREATE INDEX recordings_profile ON recordings (recording_profile_id, recorded_at);

CREATE INDEX recordings_recorded ON recordings (recorded_at, id);

CREATE INDEX recordings_retention ON recordings (retention_policy_id);

CREATE INDEX recordings_room ON recordings (room_id, recorded_at);

CREATE INDEX recordings_schedule ON recordings (schedule_id, recorded_at);

CREATE INDEX recordings_source ON recordings (source, id);

CREATE INDEX recordings_status ON recordings (status, recorded_at);

CREATE INDEX recordings_watchdog ON recordings (watchdog_policy_id);

CREATE INDEX room_roster_subject ON room_roster (subject_type, subject_id);

CREATE INDEX schedules_node ON schedules (node_id);

CREATE INDEX schedules_room ON schedules (room_id);

CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE INDEX sessions_user ON sessions (user_id);

CREATE INDEX ssh_credentials_node ON ssh_credentials (node_id, state);

CREATE TRIGGER audit_is_append_only BEFORE UPDATE ON audit_events BEGIN
  SELECT raise(ABORT, 'audit events are never changed');
END;

CREATE TRIGGER audit_leaves_by_retention_only BEFORE DELETE ON audit_events
WHEN NOT EXISTS (SELECT 1 FROM audit_retention_gate WHERE old.created_at < delete_before) BEGIN
  SELECT raise(ABORT, 'audit events leave by retention only');
END;
