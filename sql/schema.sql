-- The schema as all migrations leave it. Made by test/conventions/schema.update.ts; not run by anything.

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

CREATE TABLE audit_actors (
  id             INTEGER PRIMARY KEY,
  actor_id       TEXT NOT NULL,
  name           TEXT NOT NULL,
  roles          TEXT NOT NULL CHECK (json_valid(roles)),
  folded         TEXT NOT NULL, -- id and name in lower case, to be searched
  UNIQUE (actor_id, name, roles)
) STRICT;

CREATE TABLE audit_contexts (
  id             INTEGER PRIMARY KEY,
  session_id     TEXT NOT NULL,
  ip_address     TEXT NOT NULL,
  user_agent     TEXT NOT NULL,
  UNIQUE (session_id, ip_address, user_agent)
) STRICT;

CREATE TABLE audit_deeds (
  id             INTEGER PRIMARY KEY,
  kind           INTEGER NOT NULL REFERENCES audit_kinds (id) ON DELETE RESTRICT,
  actor          INTEGER NOT NULL REFERENCES audit_actors (id) ON DELETE RESTRICT,
  UNIQUE (kind, actor)
) STRICT;

CREATE TABLE audit_indexed (
  only_row       INTEGER PRIMARY KEY CHECK (only_row = 1),
  target         INTEGER NOT NULL
) STRICT;

CREATE TABLE audit_kinds (
  id             INTEGER PRIMARY KEY,
  action         TEXT NOT NULL,
  outcome        TEXT NOT NULL CHECK (outcome IN ('allowed', 'denied', 'succeeded', 'failed', 'partial')),
  permission     TEXT NOT NULL,
  reason         TEXT NOT NULL,
  actor_type     TEXT NOT NULL CHECK (actor_type IN ('node', 'system', 'user')),
  target_type    TEXT NOT NULL,
  has_target     INTEGER NOT NULL CHECK (has_target IN (0, 1)), -- whether the target has an id
  UNIQUE (action, outcome, permission, reason, actor_type, target_type, has_target)
) STRICT;

CREATE TABLE audit_retention_gate (
  only_row       INTEGER PRIMARY KEY CHECK (only_row = 1),
  delete_before  TEXT NOT NULL
) STRICT;

CREATE TABLE audit_rows (
  seq            INTEGER PRIMARY KEY AUTOINCREMENT,
  id             BLOB NOT NULL UNIQUE, -- a UUID
  at             INTEGER NOT NULL,     -- Unix ms * 2048 + place within the millisecond: order and time in one number
  deed           INTEGER NOT NULL REFERENCES audit_deeds (id) ON DELETE RESTRICT,
  context        INTEGER NOT NULL REFERENCES audit_contexts (id) ON DELETE RESTRICT,
  target         INTEGER NOT NULL REFERENCES audit_targets (id) ON DELETE RESTRICT,
  details        TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(details)),
  before         TEXT CHECK (before IS NULL OR json_valid(before)),
  after          TEXT CHECK (after IS NULL OR json_valid(after)),
  correlation    TEXT CHECK (correlation IS NULL OR json_valid(correlation))
) STRICT;

CREATE VIRTUAL TABLE audit_target_grams USING fts5vocab(audit_target_text, instance);

CREATE VIRTUAL TABLE audit_target_text USING fts5(
  folded, content = 'audit_targets', content_rowid = 'id', tokenize = 'trigram case_sensitive 1', detail = 'none',
  columnsize = 0
);

CREATE TABLE 'audit_target_text_config'(k PRIMARY KEY, v) WITHOUT ROWID;

CREATE TABLE 'audit_target_text_data'(id INTEGER PRIMARY KEY, block BLOB);

CREATE TABLE 'audit_target_text_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;

CREATE TABLE audit_targets (
  id             INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: `audit_indexed` goes by it
  type           TEXT NOT NULL,
  target_id      TEXT NOT NULL,
  name           TEXT NOT NULL,
  folded         TEXT NOT NULL, -- id and name in lower case, to be searched; ends in two line feeds, see audit_target_grams
  UNIQUE (type, target_id, name)
) STRICT;

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

CREATE TABLE channel_map_assignment_events (
  seq                  INTEGER PRIMARY KEY,
  id                   TEXT NOT NULL UNIQUE,
  assignment_id        TEXT NOT NULL REFERENCES channel_map_assignments (id) ON DELETE CASCADE,
  actor_user_id        TEXT,                   -- as it was: the history outlives the user
  changed_at           TEXT NOT NULL,
  previous_template_id TEXT,
  next_template_id     TEXT NOT NULL,
  reason               TEXT NOT NULL CHECK (reason IN ('assigned', 'rolled_back'))
) STRICT;

CREATE TABLE channel_map_assignments (
  id           TEXT PRIMARY KEY NOT NULL,
  target_type  TEXT NOT NULL CHECK (target_type IN ('interface', 'node')),
  interface_id TEXT UNIQUE REFERENCES interfaces (id) ON DELETE CASCADE,
  node_id      TEXT UNIQUE REFERENCES nodes (id) ON DELETE CASCADE,
  template_id  TEXT NOT NULL REFERENCES channel_map_templates (id) ON DELETE RESTRICT,
  assigned_at  TEXT NOT NULL,
  CHECK ((target_type = 'interface') = (interface_id IS NOT NULL) AND (target_type = 'node') = (node_id IS NOT NULL))
) STRICT;

CREATE TABLE channel_map_plans (
  id          TEXT PRIMARY KEY NOT NULL,
  status      TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'applied', 'cancelled')),
  template_id TEXT NOT NULL REFERENCES channel_map_templates (id) ON DELETE RESTRICT,
  targets     TEXT NOT NULL CHECK (json_valid(targets)),
  note        TEXT,
  created_at  TEXT NOT NULL,
  created_by  TEXT,
  applied_at  TEXT,
  applied_by  TEXT,
  cancelled_at TEXT
) STRICT;

CREATE TABLE channel_map_templates (
  id            TEXT PRIMARY KEY NOT NULL,
  name          TEXT NOT NULL,
  channel_mode  TEXT NOT NULL CHECK (channel_mode IN ('mono', 'stereo', 'mono_to_stereo_mix', 'multichannel')),
  entries       TEXT NOT NULL CHECK (json_valid(entries)),
  tags          TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags)),
  revision      INTEGER NOT NULL DEFAULT 1 CHECK (revision >= 1),
  promoted_at   TEXT,
  promoted_from TEXT,                          -- the template a revision grew from: today always itself
  created_at    TEXT NOT NULL,
  updated_at    TEXT NOT NULL
) STRICT;

CREATE TABLE channels (
  interface_id TEXT NOT NULL REFERENCES interfaces (id) ON DELETE CASCADE,
  idx          INTEGER NOT NULL CHECK (idx BETWEEN 1 AND 512),
  alias        TEXT NOT NULL,
  room_id      TEXT REFERENCES rooms (id) ON DELETE SET NULL,
  PRIMARY KEY (interface_id, idx)
) STRICT, WITHOUT ROWID;

CREATE TABLE chunked_recordings (
  recording_id     TEXT PRIMARY KEY NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  job_id           TEXT NOT NULL,             -- whose chunks they are
  total            INTEGER CHECK (total > 0), -- how many there are; unknown until the last one says so
  changed_at       TEXT NOT NULL,
  -- Arrivals, counted apart for what is played and for the raw master; a join that was overtaken begins anew.
  primary_revision INTEGER NOT NULL DEFAULT 0,
  raw_revision     INTEGER NOT NULL DEFAULT 0,
  primary_joined   INTEGER,                   -- revision the joined file was made of; NULL: not joined yet
  raw_joined       INTEGER,
  whole_at         TEXT,                      -- the take also came as one file: that one is played, nothing is joined
  join_at          TEXT,                      -- when to join; NULL: nothing to join
  join_attempts    INTEGER NOT NULL DEFAULT 0, -- failed ones since the last success
  join_event       TEXT,                      -- health event of the failure that still stands
  join_exact       INTEGER NOT NULL DEFAULT 1 CHECK (join_exact IN (0, 1)), -- every join so far kept each sample
  released_at      TEXT                       -- its files are gone: the joined ones hold all of them
) STRICT, WITHOUT ROWID;

CREATE TABLE controller_settings (
  id                           INTEGER PRIMARY KEY CHECK (id = 1),
  controller_name              TEXT NOT NULL,
  week_starts_on               TEXT NOT NULL CHECK (week_starts_on IN ('sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday')),
  default_recording_profile_id TEXT REFERENCES recording_profiles (id) ON DELETE SET NULL,
  default_retention_policy_id  TEXT REFERENCES retention_policies (id) ON DELETE SET NULL,
  default_upload_policy_id     TEXT REFERENCES upload_policies (id) ON DELETE SET NULL,
  default_watchdog_policy_id   TEXT REFERENCES watchdog_policies (id) ON DELETE SET NULL,
  updated_at                   TEXT NOT NULL
, timezone TEXT, site_name TEXT NOT NULL DEFAULT '') STRICT;

CREATE TABLE controller_state (
  key        TEXT PRIMARY KEY NOT NULL,
  value      TEXT NOT NULL CHECK (json_valid(value)),
  updated_at TEXT NOT NULL
) STRICT;

CREATE TABLE deleted_recordings (
  id         TEXT PRIMARY KEY NOT NULL,
  deleted_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE detached_recordings (
  detachment_id INTEGER NOT NULL,
  recording_id  TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  PRIMARY KEY (detachment_id, recording_id)
) WITHOUT ROWID, STRICT;

CREATE TABLE detachments (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  kind     TEXT NOT NULL CHECK (kind IN ('room', 'schedule')),
  owner_id TEXT NOT NULL
) STRICT;

CREATE TABLE display_link_rooms (
  link_id TEXT NOT NULL REFERENCES display_links (id) ON DELETE CASCADE,
  room_id TEXT NOT NULL REFERENCES rooms (id) ON DELETE CASCADE,
  PRIMARY KEY (link_id, room_id)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE display_screens (
  id           TEXT PRIMARY KEY NOT NULL,
  link_id      TEXT NOT NULL REFERENCES display_links (id) ON DELETE CASCADE,
  token_hash   TEXT NOT NULL UNIQUE,
  created_at   TEXT NOT NULL,
  last_seen_at TEXT NOT NULL
) STRICT;

CREATE TABLE foresight_devices (
  schedule_id TEXT PRIMARY KEY NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
  asked       TEXT NOT NULL,                  -- the node and interface the schedule names: with others it begins anew
  device      TEXT NOT NULL CHECK (json_valid(device))
) STRICT, WITHOUT ROWID;

CREATE TABLE foresight_kinds (
  kind         TEXT PRIMARY KEY NOT NULL,
  enabled      INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  lead_minutes INTEGER NOT NULL CHECK (lead_minutes BETWEEN 1 AND 1440),
  severity     TEXT NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
  updated_at   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE group_members (
  group_id TEXT NOT NULL REFERENCES access_groups (id) ON DELETE CASCADE,
  user_id  TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  PRIMARY KEY (group_id, user_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE health_cells (
  id            INTEGER PRIMARY KEY,
  scope_id      INTEGER NOT NULL,             -- of the recording (recording_scopes)
  of_recording  INTEGER NOT NULL CHECK (of_recording IN (0, 1)),
  node_id       TEXT NOT NULL,
  schedule_id   TEXT NOT NULL,
  type_id       INTEGER NOT NULL REFERENCES health_types (id) ON DELETE RESTRICT,
  severity      TEXT NOT NULL,
  status        TEXT NOT NULL,
  n             INTEGER NOT NULL CHECK (n >= 0),
  total         INTEGER NOT NULL,
  UNIQUE (scope_id, of_recording, node_id, schedule_id, type_id, severity, status)
) STRICT;

CREATE TABLE health_events (
  seq              INTEGER PRIMARY KEY,
  doc              INTEGER UNIQUE,            -- order of arrival, dense: what the search index counts by
  id               TEXT NOT NULL UNIQUE,
  type             TEXT NOT NULL,
  severity         TEXT NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
  status           TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'acknowledged', 'suppressed', 'resolved')),
  node_id          TEXT,
  recording_id     TEXT,
  schedule_id      TEXT,
  local_event_id   TEXT,                      -- the agent's own id: a resent event is the same event (docs/contract/agent.md: Health events)
  opened_at        TEXT NOT NULL,
  acknowledged_at  TEXT,
  acknowledged_by  TEXT,
  acknowledged_by_name TEXT,                 -- as it was called then
  suppressed_at    TEXT,
  suppressed_by    TEXT,
  suppressed_until TEXT,
  resolved_at      TEXT,
  resolved_by      TEXT,
  resolved_by_name TEXT,
  details          TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(details)),
  cell             INTEGER DEFAULT 0          -- where it counts (0014_counts.sql); kept by triggers
) STRICT;

CREATE VIRTUAL TABLE health_search USING fts5 (words, content = '', contentless_delete = 1, detail = 'none', tokenize = 'trigram');

CREATE TABLE 'health_search_config'(k PRIMARY KEY, v) WITHOUT ROWID;

CREATE TABLE 'health_search_data'(id INTEGER PRIMARY KEY, block BLOB);

CREATE TABLE 'health_search_docsize'(id INTEGER PRIMARY KEY, sz BLOB, origin INTEGER);

CREATE TABLE 'health_search_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;

CREATE TABLE health_types (
  id    INTEGER PRIMARY KEY,
  type  TEXT NOT NULL UNIQUE
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
  placeholder   INTEGER NOT NULL DEFAULT 0 CHECK (placeholder IN (0, 1)), -- entered by a person, not reported yet
  labelled      INTEGER NOT NULL DEFAULT 0 CHECK (labelled IN (0, 1)), channels_json TEXT CHECK (channels_json IS NULL OR json_valid(channels_json)), -- an operator named it or one of its channels
  UNIQUE (node_id, match_key)
) STRICT;

CREATE TABLE job_cells (
  id           INTEGER PRIMARY KEY,
  kind_id      INTEGER NOT NULL REFERENCES job_kinds (id) ON DELETE RESTRICT,
  node_id      TEXT NOT NULL,
  room_id      TEXT NOT NULL,
  schedule_id  TEXT NOT NULL,
  n            INTEGER NOT NULL CHECK (n >= 0),
  UNIQUE (kind_id, node_id, room_id, schedule_id)
) STRICT;

CREATE VIRTUAL TABLE job_grams USING fts5 (ids, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram');

CREATE TABLE 'job_grams_config'(k PRIMARY KEY, v) WITHOUT ROWID;

CREATE TABLE 'job_grams_data'(id INTEGER PRIMARY KEY, block BLOB);

CREATE TABLE 'job_grams_docsize'(id INTEGER PRIMARY KEY, sz BLOB, origin INTEGER);

CREATE TABLE 'job_grams_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;

CREATE TABLE job_kinds (
  id         INTEGER PRIMARY KEY,
  node_id    TEXT NOT NULL,
  status     TEXT NOT NULL,
  backend    TEXT NOT NULL,
  interface  TEXT NOT NULL,
  words      TEXT NOT NULL,                   -- claimer, device, format, channel map, reason, codec: one a line
  UNIQUE (node_id, status, backend, interface, words)
) STRICT;

CREATE TABLE library_moves (
  destination_id TEXT PRIMARY KEY NOT NULL REFERENCES upload_destinations (id) ON DELETE CASCADE,
  place          INTEGER NOT NULL,
  recording_id   TEXT NOT NULL DEFAULT '',
  checksum       TEXT NOT NULL DEFAULT '',
  skipped        INTEGER NOT NULL DEFAULT 0   -- copies on the way there of which the store said nothing
) STRICT, WITHOUT ROWID;

CREATE TABLE library_walks (
  destination_id TEXT PRIMARY KEY NOT NULL REFERENCES upload_destinations (id) ON DELETE CASCADE,
  seq            INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE manifest_queue (
  recording_id    TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  destination_id  TEXT NOT NULL DEFAULT '',
  revision        INTEGER NOT NULL DEFAULT 0,  -- counts changes: one that comes while the manifest is written is not lost
  attempts        INTEGER NOT NULL DEFAULT 0,  -- failed ones since the last change
  due_at          TEXT NOT NULL DEFAULT '',    -- '': at once
  PRIMARY KEY (recording_id, destination_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE manifest_walks (
  kind  TEXT NOT NULL CHECK (kind IN ('all', 'node', 'room', 'schedule')),
  id    TEXT NOT NULL DEFAULT '',
  at    TEXT NOT NULL DEFAULT '',
  seq   INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE multipart_uploads (
  destination_id TEXT NOT NULL REFERENCES upload_destinations (id) ON DELETE CASCADE,
  object_key     TEXT NOT NULL,
  item_id        TEXT NOT NULL,               -- the last attempt's; the history outlives it
  begun_at       TEXT NOT NULL,
  PRIMARY KEY (destination_id, object_key)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE node_doctor_reports (
  node_id TEXT PRIMARY KEY NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
  made_at TEXT NOT NULL,
  report  TEXT NOT NULL CHECK (json_valid(report))
) STRICT;

CREATE TABLE node_lifecycle_jobs (
  id            TEXT PRIMARY KEY NOT NULL,
  node_id       TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
  node_alias    TEXT NOT NULL,                 -- frozen at request time, as is the host
  action        TEXT NOT NULL CHECK (action IN ('install_dependencies', 'update_binary', 'restart_service', 'rotate_trust', 'smoke_check', 'uninstall')),
  status        TEXT NOT NULL DEFAULT 'running' CHECK (status IN ('running', 'succeeded', 'failed')),
  target_host   TEXT NOT NULL,
  requested_at  TEXT NOT NULL,
  requested_by  TEXT NOT NULL,
  completed_at  TEXT,
  exit_code     INTEGER,
  runner_run_id TEXT,
  stdout        TEXT,
  stderr        TEXT,
  error         TEXT
) STRICT;

CREATE TABLE node_search (
  node_id TEXT PRIMARY KEY NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
  words   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

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

CREATE TABLE notification_channels (
  id              TEXT PRIMARY KEY NOT NULL,
  name            TEXT NOT NULL,
  kind            TEXT NOT NULL CHECK (kind IN ('email', 'webhook', 'ntfy')),
  enabled         INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  options         TEXT CHECK (options IS NULL OR json_valid(options)),
  secret          TEXT,
  for_people      INTEGER NOT NULL DEFAULT 0 CHECK (for_people IN (0, 1)),
  last_error      TEXT,                       -- of the newest attempt; none once one succeeds for every recipient
  last_sent_at    TEXT,
  failed_event_id TEXT,                       -- the health event that stands while messages cannot be delivered
  created_at      TEXT NOT NULL,
  updated_at      TEXT NOT NULL
) STRICT;

CREATE TABLE notification_fanouts (
  seq             INTEGER PRIMARY KEY,
  health_event_id TEXT NOT NULL,
  kind            TEXT NOT NULL CHECK (kind IN ('event', 'resolved')),
  severity        TEXT NOT NULL,
  content         TEXT NOT NULL CHECK (json_valid(content)),
  after_user      TEXT NOT NULL DEFAULT '',
  created_at      TEXT NOT NULL
) STRICT;

CREATE TABLE notification_people (
  user_id      TEXT PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  enabled      INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  min_severity TEXT NOT NULL CHECK (min_severity IN ('info', 'warning', 'critical')),
  since        TEXT NOT NULL                  -- events that began before are not told
) STRICT, WITHOUT ROWID;

CREATE TABLE notification_rules (
  id                  TEXT PRIMARY KEY NOT NULL,
  name                TEXT NOT NULL,
  enabled             INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  channel_id          TEXT NOT NULL REFERENCES notification_channels (id) ON DELETE RESTRICT,
  escalate_channel_id TEXT REFERENCES notification_channels (id) ON DELETE RESTRICT,
  choice              TEXT NOT NULL CHECK (json_valid(choice)), -- everything else, as the API shows it
  reported_until      TEXT NOT NULL,          -- daily reports due before this were sent, or belong to the time before the rule
  created_at          TEXT NOT NULL,
  updated_at          TEXT NOT NULL
) STRICT;

CREATE TABLE notifications (
  seq              INTEGER PRIMARY KEY,
  id               TEXT NOT NULL UNIQUE,      -- the same on every attempt
  channel_id       TEXT NOT NULL,
  rule_id          TEXT,                      -- absent for people's own mail and for tests
  user_id          TEXT REFERENCES users (id) ON DELETE CASCADE,
  health_event_id  TEXT,
  kind             TEXT NOT NULL CHECK (kind IN ('event', 'resolved', 'escalation', 'report', 'test')),
  status           TEXT NOT NULL CHECK (status IN ('queued', 'sending', 'sent', 'failed')),
  held             INTEGER NOT NULL DEFAULT 0 CHECK (held IN (0, 1, 2)), -- waits 1: for a while, 2: for a time of day; dropped when no longer needed
  attempts         INTEGER NOT NULL DEFAULT 0,
  next_attempt_at  TEXT NOT NULL,
  due_at           TEXT NOT NULL,             -- when it was first due: it is tried for a day
  batch            TEXT,                      -- messages that go as one digest share it
  severity         TEXT CHECK (severity IN ('info', 'warning', 'critical')),
  topic            TEXT,                      -- type, node, schedule and recording: what a rule tells at most once per throttle
  conversation     TEXT,                      -- id of the message that opened it
  content          TEXT NOT NULL CHECK (json_valid(content)), -- what it is made of, as it was when it was queued
  acknowledge_hash TEXT,
  last_error       TEXT,
  created_at       TEXT NOT NULL,
  sent_at          TEXT
) STRICT;

CREATE TABLE pairing_codes (
  node_id    TEXT PRIMARY KEY NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
  code_hash  TEXT NOT NULL UNIQUE,            -- HMAC-SHA-256 under a secret of this installation: 40 bits are guessed otherwise
  created_by TEXT REFERENCES users (id) ON DELETE CASCADE,
  expires_at TEXT NOT NULL
) STRICT;

CREATE TABLE playback_tickets (
  token_hash    TEXT PRIMARY KEY NOT NULL,
  session_id    TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  recording_id  TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  permission    TEXT NOT NULL CHECK (permission IN ('recording:playback', 'recording:download')),
  created_at    TEXT NOT NULL,
  expires_at    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE preflights (
  schedule_id TEXT PRIMARY KEY NOT NULL,
  node_id     TEXT NOT NULL,
  starts_at   TEXT NOT NULL,                  -- of the take
  heard_at    TEXT NOT NULL,
  fault       TEXT,                           -- why the device could not be opened
  channels    TEXT NOT NULL CHECK (json_valid(channels)),
  event_id    TEXT                            -- the health event that tells of it, until it is over
) STRICT, WITHOUT ROWID;

CREATE TABLE recording_cells (
  id          INTEGER PRIMARY KEY,
  scope_id    INTEGER NOT NULL REFERENCES recording_scopes (id) ON DELETE CASCADE,
  profile_id  TEXT NOT NULL,
  source      TEXT NOT NULL,
  status      TEXT NOT NULL,
  health      TEXT NOT NULL,
  cached      INTEGER NOT NULL,
  n           INTEGER NOT NULL CHECK (n >= 0),
  UNIQUE (scope_id, profile_id, source, status, health, cached)
) STRICT;

CREATE TABLE recording_chunk_files (
  recording_id TEXT NOT NULL,
  idx          INTEGER NOT NULL,
  rendition    TEXT NOT NULL CHECK (rendition IN ('primary', 'raw', 'enhanced')),
  path         TEXT NOT NULL UNIQUE,          -- relative to the takes directory
  checksum     TEXT NOT NULL,
  size_bytes   INTEGER NOT NULL CHECK (size_bytes > 0),
  mime_type    TEXT NOT NULL,
  stored_at    TEXT NOT NULL,
  details      TEXT CHECK (details IS NULL OR json_valid(details)),
  PRIMARY KEY (recording_id, idx, rendition),
  FOREIGN KEY (recording_id, idx) REFERENCES recording_chunks (recording_id, idx) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE recording_chunks (
  recording_id     TEXT NOT NULL REFERENCES chunked_recordings (recording_id) ON DELETE CASCADE,
  idx              INTEGER NOT NULL CHECK (idx >= 1),
  status           TEXT NOT NULL CHECK (status IN ('capturing', 'cached', 'uploading', 'uploaded', 'partial', 'failed')),
  duration_seconds INTEGER NOT NULL CHECK (duration_seconds >= 0),
  created_at       TEXT NOT NULL,
  cached_at        TEXT,
  PRIMARY KEY (recording_id, idx)
) STRICT, WITHOUT ROWID;

CREATE TABLE recording_facet_totals (
  facet     TEXT NOT NULL CHECK (facet IN ('folder', 'tag', 'upload_policy')),
  value     TEXT NOT NULL,
  n         INTEGER NOT NULL,
  PRIMARY KEY (facet, value)
) STRICT, WITHOUT ROWID;

CREATE TABLE recording_facets (
  facet     TEXT NOT NULL CHECK (facet IN ('folder', 'tag', 'upload_policy')),
  value     TEXT NOT NULL,
  scope_id  INTEGER NOT NULL REFERENCES recording_scopes (id) ON DELETE CASCADE,
  n         INTEGER NOT NULL,
  PRIMARY KEY (scope_id, facet, value)
) STRICT, WITHOUT ROWID;

CREATE TABLE recording_files (
  recording_id     TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  rendition        TEXT NOT NULL CHECK (rendition IN ('primary', 'raw', 'enhanced')),
  path             TEXT NOT NULL UNIQUE,      -- relative to the takes directory
  checksum         TEXT NOT NULL,             -- sha256:<hex>, computed here while receiving
  size_bytes       INTEGER NOT NULL CHECK (size_bytes > 0),
  mime_type        TEXT NOT NULL,
  duration_seconds INTEGER,
  job_id           TEXT,
  joined           INTEGER NOT NULL DEFAULT 0 CHECK (joined IN (0, 1)), -- made of the take's chunks; 0: it came as one file
  stored_at        TEXT NOT NULL,
  details          TEXT CHECK (details IS NULL OR json_valid(details)),  -- how it was made, as its recorder told
  local            INTEGER NOT NULL DEFAULT 1 CHECK (local IN (0, 1)), -- 0: its bytes are at destinations alone (0028)
  PRIMARY KEY (recording_id, rendition)
) STRICT, WITHOUT ROWID;

CREATE VIRTUAL TABLE recording_grams USING fts5 (grams, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');

CREATE TABLE 'recording_grams_config'(k PRIMARY KEY, v) WITHOUT ROWID;

CREATE TABLE 'recording_grams_data'(id INTEGER PRIMARY KEY, block BLOB);

CREATE TABLE 'recording_grams_docsize'(id INTEGER PRIMARY KEY, sz BLOB, origin INTEGER);

CREATE TABLE 'recording_grams_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;

CREATE TABLE recording_jobs (
  seq               INTEGER PRIMARY KEY,      -- names the row to the search index
  id                TEXT NOT NULL UNIQUE,
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
  progress          TEXT CHECK (progress IS NULL OR json_valid(progress)),  -- as told last; none once it has ended
  lease_expires_at  TEXT,
  stop_requested_at TEXT,
  completed_at      TEXT,
  failure_reason    TEXT,
  cell              INTEGER DEFAULT 0         -- where it counts (0012_chunks.sql); kept by triggers
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

CREATE TABLE recording_scopes (
  id           INTEGER PRIMARY KEY,
  node_id      TEXT NOT NULL,
  room_id      TEXT NOT NULL,
  schedule_id  TEXT NOT NULL,
  UNIQUE (node_id, room_id, schedule_id)
) STRICT;

CREATE TABLE recording_tags (
  recording_id TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  position     INTEGER NOT NULL,
  tag          TEXT NOT NULL COLLATE NOCASE,
  PRIMARY KEY (recording_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE recording_texts (
  seq   INTEGER PRIMARY KEY,
  text  TEXT NOT NULL
) STRICT;

CREATE TABLE recording_upload_policies (
  recording_id TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  position     INTEGER NOT NULL,
  policy_id    TEXT NOT NULL REFERENCES upload_policies (id) ON DELETE CASCADE,
  PRIMARY KEY (recording_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE recording_waveforms (
  recording_id  TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  checksum      TEXT NOT NULL,
  channels      INTEGER NOT NULL CHECK (channels BETWEEN 1 AND 512),
  sample_rate   INTEGER NOT NULL CHECK (sample_rate > 0),
  samples       INTEGER NOT NULL CHECK (samples > 0),      -- per channel
  points        INTEGER NOT NULL CHECK (points > 0),
  peaks         BLOB NOT NULL,                             -- int8: least, greatest per channel, per point
  preview       TEXT NOT NULL CHECK (json_valid(preview)), -- what the recording itself shows
  made_at       TEXT NOT NULL,
  PRIMARY KEY (recording_id, checksum)
) STRICT;

CREATE TABLE recordings (
  seq                  INTEGER PRIMARY KEY,   -- names the row to the search index; an implicit rowid would not survive a VACUUM
  id                   TEXT NOT NULL UNIQUE,
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
  updated_at           TEXT NOT NULL,
  cached               INTEGER NOT NULL DEFAULT 0 CHECK (cached IN (0, 1)),  -- has a stored file; kept by triggers
  local                INTEGER NOT NULL DEFAULT 0 CHECK (local IN (0, 1)),   -- has one on this disk; kept by triggers
  cell                 INTEGER                -- where it counts (0011_search.sql); kept by triggers
) STRICT;

CREATE TABLE remote_copies (
  recording_id   TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  checksum       TEXT NOT NULL,               -- of the file, as recording_files has it
  destination_id TEXT NOT NULL REFERENCES upload_destinations (id) ON DELETE CASCADE,
  object_key     TEXT NOT NULL,
  etag           TEXT,                        -- as the store named it when the object was verified
  verified_at    TEXT NOT NULL,
  damaged_at     TEXT, place INTEGER NOT NULL DEFAULT 0,                        -- since when the object is known to be lost or another one
  PRIMARY KEY (recording_id, checksum, destination_id)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE room_channels (
  room_id TEXT NOT NULL REFERENCES rooms (id) ON DELETE CASCADE,
  node_id TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
  n       INTEGER NOT NULL CHECK (n >= 0),
  PRIMARY KEY (room_id, node_id)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE schedule_groups (
  schedule_id TEXT NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
  position    INTEGER NOT NULL,
  group_id    TEXT NOT NULL REFERENCES access_groups (id) ON DELETE CASCADE,
  PRIMARY KEY (schedule_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE schedule_runs (
  schedule_id   TEXT NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
  occurrence_at TEXT NOT NULL,                -- scheduled start, UTC
  outcome       TEXT NOT NULL CHECK (outcome IN ('started', 'skipped', 'missed')),
  recording_id  TEXT REFERENCES recordings (id) ON DELETE SET NULL,
  ends_at       TEXT,                         -- end of the slot; open-ended takes have none
  created_at    TEXT NOT NULL,
  PRIMARY KEY (schedule_id, occurrence_at)
) STRICT, WITHOUT ROWID;

CREATE TABLE schedule_upload_policies (
  schedule_id TEXT NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
  position    INTEGER NOT NULL,
  policy_id   TEXT NOT NULL REFERENCES upload_policies (id) ON DELETE RESTRICT,
  PRIMARY KEY (schedule_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE schedule_users (
  schedule_id TEXT NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
  position    INTEGER NOT NULL,
  user_id     TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  PRIMARY KEY (schedule_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE schedules (
  id                   TEXT PRIMARY KEY NOT NULL,
  name                 TEXT NOT NULL,
  enabled              INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
  node_id              TEXT REFERENCES nodes (id) ON DELETE SET NULL,
  room                 TEXT NOT NULL DEFAULT '',                       -- as people call it: shown, and in templates
  room_id              TEXT REFERENCES rooms (id) ON DELETE RESTRICT,  -- the room of its channels, derived at each change
  capture_interface_id TEXT REFERENCES interfaces (id) ON DELETE SET NULL,
  capture_backend      TEXT CHECK (capture_backend IN ('alsa', 'jack', 'pipewire')),
  capture_channels     TEXT CHECK (capture_channels IS NULL OR json_valid(capture_channels)),
  channel_mode         TEXT CHECK (channel_mode IN ('mono', 'stereo', 'mono_to_stereo_mix', 'multichannel')),
  recording_profile_id TEXT NOT NULL DEFAULT 'voice-mp3-vbr' REFERENCES recording_profiles (id) ON DELETE RESTRICT,
  watchdog_policy_id   TEXT NOT NULL DEFAULT 'scheduled-voice-watchdog' REFERENCES watchdog_policies (id) ON DELETE RESTRICT,
  retention_policy_id  TEXT NOT NULL DEFAULT 'retention-keep-controller-cache' REFERENCES retention_policies (id) ON DELETE RESTRICT,
  tags                 TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags)),
  timezone             TEXT NOT NULL DEFAULT 'UTC',
  title_template       TEXT NOT NULL DEFAULT '{{schedule.name}}',
  folder_template      TEXT NOT NULL DEFAULT 'Scheduled',
  recurrence           TEXT NOT NULL DEFAULT '{"mode":"manual"}' CHECK (json_valid(recurrence)),
  anchor_date          TEXT NOT NULL DEFAULT '1970-01-05',  -- local date from which "every n" is counted
  next_run_at          TEXT,                  -- when the runner starts the next occurrence, or tries it again
  slot_at              TEXT,                  -- scheduled start of that occurrence
  slot_date            TEXT,                  -- its local date
  search               TEXT NOT NULL DEFAULT '',  -- everything a search looks into, in lower case
  created_at           TEXT NOT NULL,
  updated_at           TEXT NOT NULL
, stamp INTEGER NOT NULL DEFAULT 0) STRICT;

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
, by_link INTEGER NOT NULL DEFAULT 0 CHECK (by_link IN (0, 1)), kind TEXT NOT NULL DEFAULT 'bearer' CHECK (kind IN ('bearer', 'cookie'))) STRICT;

CREATE TABLE sign_in_links (
  token_hash TEXT PRIMARY KEY NOT NULL,
  user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL
) STRICT;

CREATE TABLE sound_prints (
  interface_id TEXT NOT NULL REFERENCES interfaces (id) ON DELETE CASCADE,
  channel      INTEGER NOT NULL CHECK (channel BETWEEN 1 AND 32767),
  heard_at     TEXT NOT NULL,
  recording_id TEXT NOT NULL,                 -- without a reference: the print outlives the take
  room_id      TEXT,                          -- of the take: elsewhere the channel sounds different
  device       TEXT NOT NULL,                 -- which hardware it was, as its recorder tells it apart
  print        TEXT NOT NULL CHECK (json_valid(print)),
  PRIMARY KEY (interface_id, channel, heard_at)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE switcher_inputs (
  switcher_id TEXT NOT NULL REFERENCES switchers (id) ON DELETE CASCADE,
  input       INTEGER NOT NULL CHECK (input BETWEEN 1 AND 256),
  room_id     TEXT NOT NULL REFERENCES rooms (id) ON DELETE CASCADE,
  PRIMARY KEY (switcher_id, input),
  UNIQUE (switcher_id, room_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE switcher_outputs (
  switcher_id TEXT NOT NULL REFERENCES switchers (id) ON DELETE CASCADE,
  output      INTEGER NOT NULL CHECK (output BETWEEN 1 AND 256),
  user_id     TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  PRIMARY KEY (switcher_id, output),
  UNIQUE (switcher_id, user_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE switchers (
  id                TEXT PRIMARY KEY NOT NULL,
  display_name      TEXT NOT NULL,
  host              TEXT NOT NULL,
  port              INTEGER NOT NULL CHECK (port BETWEEN 1 AND 65535),
  model             TEXT NOT NULL CHECK (model IN ('avpro-ac-max')),
  enabled           INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  mode              TEXT NOT NULL CHECK (mode IN ('disabled', 'observe', 'enforce')),
  username          TEXT,
  sealed_password   TEXT,                      -- AES-256-GCM, bound to this row
  unreachable_event TEXT REFERENCES health_events (id) ON DELETE SET NULL,  -- open while the router cannot reach it
  created_at        TEXT NOT NULL,
  updated_at        TEXT NOT NULL
) STRICT;

CREATE TABLE upload_cells (
  scope_id  INTEGER NOT NULL,
  provider  TEXT NOT NULL,
  status    TEXT NOT NULL,
  n         INTEGER NOT NULL CHECK (n >= 0),
  failures  INTEGER NOT NULL,
  PRIMARY KEY (scope_id, provider, status)
) STRICT, WITHOUT ROWID;

CREATE TABLE upload_destinations (
  id            TEXT PRIMARY KEY NOT NULL,
  display_name  TEXT NOT NULL,
  kind          TEXT NOT NULL CHECK (kind IN ('smb', 's3')),
  enabled       INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  smb           TEXT CHECK (smb IS NULL OR json_valid(smb)),
  smb_password  TEXT,
  s3            TEXT CHECK (s3 IS NULL OR json_valid(s3)),
  s3_secret     TEXT,
  keeps_library INTEGER NOT NULL DEFAULT 0 CHECK (keeps_library IN (0, 1)), -- takes may be here alone, and are played from here
  created_at    TEXT NOT NULL,
  updated_at    TEXT NOT NULL
, place INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE TABLE upload_policies (
  id                        TEXT PRIMARY KEY NOT NULL,
  name                      TEXT NOT NULL,
  destination_id            TEXT REFERENCES upload_destinations (id) ON DELETE RESTRICT, -- made in 0009
  enabled                   INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  trigger_kind              TEXT NOT NULL CHECK (trigger_kind IN ('manual', 'on_recording_cached')),
  max_attempts              INTEGER NOT NULL CHECK (max_attempts BETWEEN 1 AND 100),
  path_override             TEXT,
  delete_cache_after_upload INTEGER NOT NULL CHECK (delete_cache_after_upload IN (0, 1)),
  updated_at                TEXT NOT NULL
) STRICT;

CREATE TABLE upload_queue (
  id               TEXT PRIMARY KEY NOT NULL,
  recording_id     TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
  upload_policy_id TEXT REFERENCES upload_policies (id) ON DELETE SET NULL,
  destination_id   TEXT NOT NULL,
  provider         TEXT NOT NULL CHECK (provider IN ('stub', 'smb', 's3')),
  status           TEXT NOT NULL CHECK (status IN ('queued', 'retrying', 'failed', 'succeeded', 'cancelled')),
  attempt_count    INTEGER NOT NULL DEFAULT 0 CHECK (attempt_count >= 0),
  max_attempts     INTEGER NOT NULL CHECK (max_attempts >= 1),
  next_attempt_at  TEXT NOT NULL,             -- due time; of an attempt under way the end of its lease
  claim            TEXT,                      -- the attempt under way: only it may settle the item
  last_error       TEXT,
  cache_path       TEXT NOT NULL,             -- frozen with the checksum when queued
  checksum         TEXT NOT NULL,
  file_name        TEXT NOT NULL,
  chunk_id         TEXT,
  chunk_index      INTEGER,
  path_override    TEXT,
  target           TEXT,
  verification     TEXT CHECK (verification IN ('matched', 'provider_accepted', 'provider_validated')),
  release_pending  INTEGER NOT NULL DEFAULT 0 CHECK (release_pending IN (0, 1)), -- uploaded; its file is to be deleted
  scope_id         INTEGER,                   -- of its recording (recording_scopes); kept by the triggers below
  created_at       TEXT NOT NULL,
  updated_at       TEXT NOT NULL
) STRICT;

CREATE TABLE upload_troubles (
  destination_id TEXT PRIMARY KEY NOT NULL REFERENCES upload_destinations (id) ON DELETE CASCADE,
  error          TEXT NOT NULL,
  failed_at      TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE user_grants (
  user_id       TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  resource_type TEXT NOT NULL,
  resource_id   TEXT NOT NULL,
  PRIMARY KEY (user_id, resource_type, resource_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE user_roles (
  user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  role    TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'operator', 'technician', 'viewer', 'auditor')),
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
, signed_in_at TEXT) STRICT;

CREATE TABLE watchdog_policies (
  id         TEXT PRIMARY KEY NOT NULL,
  name       TEXT NOT NULL,
  rules      TEXT NOT NULL CHECK (json_valid(rules)), -- thresholds and modes: stored and returned whole
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;

CREATE VIEW audit_events AS
SELECT a.seq, lower(substr(hex(a.id), 1, 8) || '-' || substr(hex(a.id), 9, 4) || '-' || substr(hex(a.id), 13, 4)
    || '-' || substr(hex(a.id), 17, 4) || '-' || substr(hex(a.id), 21)) AS id,
  strftime('%Y-%m-%dT%H:%M:%fZ', (a.at >> 11) / 1000.0, 'unixepoch') AS created_at,
  k.action, k.outcome, nullif(k.permission, '') AS permission, nullif(k.reason, '') AS reason,
  k.actor_type, w.actor_id, w.name AS actor_name, w.roles AS actor_roles,
  nullif(c.ip_address, '') AS ip_address, nullif(c.session_id, '') AS session_id, nullif(c.user_agent, '') AS user_agent,
  t.type AS target_type, nullif(t.target_id, '') AS target_id, nullif(t.name, '') AS target_name,
  a.details, a.before, a.after, a.correlation
FROM audit_rows a
  JOIN audit_deeds d ON d.id = a.deed
  JOIN audit_kinds k ON k.id = d.kind
  JOIN audit_actors w ON w.id = d.actor
  JOIN audit_contexts c ON c.id = a.context
  JOIN audit_targets t ON t.id = a.target;

CREATE VIEW health_places (seq, scope_id, of_recording, node_id, schedule_id, type_id, severity, status) AS
  SELECT h.seq, coalesce((SELECT c.scope_id FROM recordings r JOIN recording_cells c ON c.id = r.cell WHERE r.id = h.recording_id), 0),
    h.recording_id IS NOT NULL, coalesce(h.node_id, ''), coalesce(h.schedule_id, ''),
    coalesce((SELECT t.id FROM health_types t WHERE t.type = h.type), 0), h.severity, h.status
  FROM health_events h;

CREATE VIEW health_words (seq, doc, words) AS
  SELECT seq, doc, type || ' ' || coalesce(node_id, '') || ' ' || coalesce(recording_id, '') || ' ' || coalesce(schedule_id, '')
    || ' ' || substr(details, 1, 4000) FROM health_events;

CREATE VIEW job_words (seq, recording_id, node_id, status, backend, interface, words) AS
  SELECT seq, recording_id, node_id, status, capture_backend, coalesce(capture_interface, ''),
    coalesce(claimed_by, '') || char(10) || coalesce(json_extract(command, '$.captureDevice'), '') || char(10)
    || coalesce(json_extract(command, '$.captureFormat'), '') || char(10)
    || coalesce(json_extract(command, '$.channelMap.templateName'), '') || char(10) || coalesce(failure_reason, '')
    || char(10) || coalesce('.' || json_extract(command, '$.outputCodec'), '')
  FROM recording_jobs;

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

CREATE VIEW recording_values (seq, facet, value) AS
  SELECT seq, 'folder', folder FROM recordings
  UNION ALL SELECT r.seq, 'tag', t.tag FROM recordings r JOIN recording_tags t ON t.recording_id = r.id
  UNION ALL SELECT r.seq, 'upload_policy', p.policy_id FROM recordings r JOIN recording_upload_policies p ON p.recording_id = r.id;

CREATE INDEX access_policies_resource ON access_policies (resource_id, resource_type);

CREATE INDEX access_policies_subject ON access_policies (subject_type, subject_id);

CREATE INDEX audit_context ON audit_rows (context);

CREATE INDEX audit_deed ON audit_rows (deed, at, target);

CREATE INDEX audit_deeds_actor ON audit_deeds (actor, kind);

CREATE INDEX audit_target ON audit_rows (target, at, deed);

CREATE INDEX audit_time ON audit_rows (at, deed, target);

CREATE INDEX bootstrap_tokens_creator ON bootstrap_tokens (created_by);

CREATE INDEX bootstrap_tokens_node ON bootstrap_tokens (node_id);

CREATE INDEX channel_map_assignment_events_of ON channel_map_assignment_events (assignment_id, seq);

CREATE INDEX channel_map_assignments_assigned ON channel_map_assignments (assigned_at, id);

CREATE INDEX channel_map_assignments_template ON channel_map_assignments (template_id);

CREATE INDEX channel_map_plans_created ON channel_map_plans (created_at, id);

CREATE INDEX channel_map_plans_template ON channel_map_plans (template_id);

CREATE INDEX channel_map_templates_created ON channel_map_templates (created_at, id);

CREATE INDEX channels_room ON channels (room_id);

CREATE INDEX chunked_recordings_due ON chunked_recordings (join_at) WHERE join_at IS NOT NULL;

CREATE INDEX chunked_recordings_kept ON chunked_recordings (changed_at) WHERE released_at IS NULL AND join_at IS NULL;

CREATE INDEX controller_settings_profile ON controller_settings (default_recording_profile_id);

CREATE INDEX controller_settings_retention ON controller_settings (default_retention_policy_id);

CREATE INDEX controller_settings_upload ON controller_settings (default_upload_policy_id);

CREATE INDEX controller_settings_watchdog ON controller_settings (default_watchdog_policy_id);

CREATE INDEX deleted_recordings_age ON deleted_recordings (deleted_at);

CREATE INDEX detached_recordings_recording ON detached_recordings (recording_id);

CREATE INDEX detachments_owner ON detachments (kind, owner_id);

CREATE INDEX display_link_rooms_room ON display_link_rooms (room_id);

CREATE INDEX display_links_maker ON display_links (maker_id);

CREATE INDEX display_screens_link ON display_screens (link_id, created_at);

CREATE INDEX group_members_user ON group_members (user_id);

CREATE INDEX health_cells_type ON health_cells (type_id);

CREATE INDEX health_foreseen ON health_events (type, schedule_id, node_id)
  WHERE status <> 'resolved' AND substr(type, 1, 10) = 'foresight.';

CREATE UNIQUE INDEX health_local_event ON health_events (node_id, local_event_id) WHERE local_event_id IS NOT NULL;

CREATE INDEX health_node ON health_events (node_id);

CREATE INDEX health_order ON health_events (seq);

CREATE INDEX health_recording ON health_events (recording_id);

CREATE INDEX health_resolved ON health_events (resolved_at) WHERE resolved_at IS NOT NULL;

CREATE INDEX health_schedule ON health_events (schedule_id);

CREATE INDEX health_severity ON health_events (severity, type);

CREATE INDEX health_standing ON health_events (node_id, type) WHERE status <> 'resolved';

CREATE INDEX health_status ON health_events (status);

CREATE INDEX health_type ON health_events (type);

CREATE INDEX health_unresolved ON health_events (severity, status) WHERE status <> 'resolved';

CREATE INDEX health_watched ON health_events (type, recording_id, node_id)
  WHERE status <> 'resolved' AND substr(type, 1, 9) = 'watchdog.' AND json_extract(details, '$.recordingEndedAt') IS NULL;

CREATE INDEX interfaces_node ON interfaces (node_id, position);

CREATE INDEX jobs_cell ON recording_jobs (cell, created_at, id);

CREATE INDEX jobs_created ON recording_jobs (created_at, id, cell);

CREATE INDEX jobs_cut_off ON recording_jobs (failure_reason, recording_id)
  WHERE failure_reason IN ('lease_expired', 'stop_request_lease_expired');

CREATE INDEX jobs_lease ON recording_jobs (lease_expires_at) WHERE status IN ('running', 'stop_requested');

CREATE INDEX jobs_node ON recording_jobs (node_id, status, created_at);

CREATE INDEX jobs_recording ON recording_jobs (recording_id, created_at);

CREATE INDEX jobs_status ON recording_jobs (status, created_at);

CREATE INDEX manifest_queue_due ON manifest_queue (destination_id, due_at);

CREATE INDEX multipart_uploads_begun ON multipart_uploads (begun_at);

CREATE INDEX node_credentials_creator ON node_credentials (created_by);

CREATE INDEX node_credentials_node ON node_credentials (node_id, state);

CREATE INDEX node_lifecycle_jobs_node ON node_lifecycle_jobs (node_id, requested_at);

CREATE INDEX node_lifecycle_jobs_running ON node_lifecycle_jobs (status) WHERE status = 'running';

CREATE INDEX nodes_alias ON nodes (alias, id);

CREATE INDEX nodes_room ON nodes (room_id);

CREATE INDEX nodes_site ON nodes (site);

CREATE UNIQUE INDEX notification_channel_for_people ON notification_channels (for_people) WHERE for_people = 1;

CREATE INDEX notification_fanouts_event ON notification_fanouts (health_event_id);

CREATE INDEX notification_people_enabled ON notification_people (user_id) WHERE enabled = 1;

CREATE INDEX notification_rules_channel ON notification_rules (channel_id);

CREATE INDEX notification_rules_escalation ON notification_rules (escalate_channel_id) WHERE escalate_channel_id IS NOT NULL;

CREATE UNIQUE INDEX notifications_acknowledge ON notifications (acknowledge_hash) WHERE acknowledge_hash IS NOT NULL;

CREATE INDEX notifications_batch ON notifications (batch) WHERE batch IS NOT NULL;

CREATE INDEX notifications_channel ON notifications (channel_id, seq);

CREATE INDEX notifications_due ON notifications (next_attempt_at) WHERE status = 'queued';

CREATE INDEX notifications_ended ON notifications (created_at) WHERE status IN ('sent', 'failed');

CREATE INDEX notifications_event ON notifications (health_event_id, rule_id, user_id) WHERE health_event_id IS NOT NULL;

CREATE INDEX notifications_held ON notifications (channel_id, next_attempt_at) WHERE status = 'queued' AND held > 0;

CREATE INDEX notifications_queue ON notifications (channel_id, held, seq) WHERE status = 'queued';

CREATE INDEX notifications_rule ON notifications (rule_id, seq);

CREATE INDEX notifications_sending ON notifications (channel_id) WHERE status = 'sending';

CREATE INDEX notifications_sent ON notifications (channel_id, sent_at) WHERE status = 'sent';

CREATE INDEX notifications_status ON notifications (status, seq);

CREATE INDEX notifications_topic ON notifications (topic, rule_id, user_id, seq) WHERE topic IS NOT NULL;

CREATE INDEX notifications_user ON notifications (user_id) WHERE user_id IS NOT NULL;

CREATE UNIQUE INDEX one_active_credential ON node_credentials (node_id) WHERE state = 'active';

CREATE UNIQUE INDEX one_active_job ON recording_jobs (recording_id) WHERE status IN ('queued', 'running', 'stop_requested');

CREATE UNIQUE INDEX one_active_ssh_key ON ssh_credentials (node_id) WHERE state = 'active';

CREATE UNIQUE INDEX one_pending_credential ON node_credentials (node_id) WHERE state = 'pending';

CREATE UNIQUE INDEX one_running_lifecycle_job ON node_lifecycle_jobs (node_id) WHERE status = 'running';

CREATE INDEX pairing_codes_creator ON pairing_codes (created_by);

CREATE INDEX playback_tickets_expiry ON playback_tickets (expires_at);

CREATE INDEX playback_tickets_recording ON playback_tickets (recording_id);

CREATE INDEX playback_tickets_session ON playback_tickets (session_id);

CREATE INDEX preflights_standing ON preflights (starts_at) WHERE event_id IS NOT NULL;

CREATE INDEX recording_facet_totals_most ON recording_facet_totals (facet, n DESC, value);

CREATE INDEX recording_files_remote ON recording_files (recording_id) WHERE local = 0;

CREATE INDEX recording_files_stored ON recording_files (stored_at);

CREATE INDEX recording_tags_tag ON recording_tags (tag, recording_id);

CREATE INDEX recording_upload_policies_policy ON recording_upload_policies (policy_id, recording_id);

CREATE INDEX recordings_cell_folder ON recordings (cell, folder COLLATE NOCASE, id) WHERE cell IS NOT NULL;

CREATE INDEX recordings_cell_name ON recordings (cell, name COLLATE NOCASE, id) WHERE cell IS NOT NULL;

CREATE INDEX recordings_cell_recorded ON recordings (cell, recorded_at, id) WHERE cell IS NOT NULL;

CREATE INDEX recordings_duration ON recordings (duration_seconds, id, cell);

CREATE INDEX recordings_duration_down ON recordings (duration_seconds DESC, id, cell);

CREATE INDEX recordings_folder ON recordings (folder COLLATE NOCASE, id, cell);

CREATE INDEX recordings_folder_down ON recordings (folder COLLATE NOCASE DESC, id, cell);

CREATE INDEX recordings_health ON recordings (health_status, id, cell);

CREATE INDEX recordings_health_down ON recordings (health_status DESC, id, cell);

CREATE INDEX recordings_in_folder ON recordings (folder, recorded_at, id, cell);

CREATE INDEX recordings_kept ON recordings (retention_policy_id, recorded_at, id)
  WHERE local = 1 AND status IN ('cached', 'uploaded');

CREATE INDEX recordings_name ON recordings (name COLLATE NOCASE, id, cell);

CREATE INDEX recordings_node ON recordings (node_id, recorded_at);

CREATE INDEX recordings_profile ON recordings (recording_profile_id, recorded_at);

CREATE INDEX recordings_recorded ON recordings (recorded_at, id, cell);

CREATE INDEX recordings_retention ON recordings (retention_policy_id);

CREATE INDEX recordings_room ON recordings (room_id, recorded_at);

CREATE INDEX recordings_schedule ON recordings (schedule_id, recorded_at);

CREATE INDEX recordings_source ON recordings (source, id, cell);

CREATE INDEX recordings_source_down ON recordings (source DESC, id, cell);

CREATE INDEX recordings_status ON recordings (status, id, cell);

CREATE INDEX recordings_status_down ON recordings (status DESC, id, cell);

CREATE INDEX recordings_watchdog ON recordings (watchdog_policy_id);

CREATE INDEX remote_copies_destination ON remote_copies (destination_id, recording_id, checksum);

CREATE INDEX room_channels_node ON room_channels (node_id);

CREATE INDEX room_roster_schedule ON room_roster (schedule_id);

CREATE INDEX room_roster_subject ON room_roster (subject_type, subject_id);

CREATE INDEX schedule_groups_group ON schedule_groups (group_id);

CREATE INDEX schedule_runs_ends ON schedule_runs (ends_at) WHERE outcome = 'started';

CREATE INDEX schedule_runs_recording ON schedule_runs (recording_id);

CREATE INDEX schedule_upload_policies_policy ON schedule_upload_policies (policy_id);

CREATE INDEX schedule_users_user ON schedule_users (user_id);

CREATE INDEX schedules_backend ON schedules (capture_backend, created_at);

CREATE INDEX schedules_calendar ON schedules (enabled, id, room_id, node_id, stamp);

CREATE INDEX schedules_created ON schedules (created_at, id, search);

CREATE INDEX schedules_due ON schedules (next_run_at) WHERE enabled = 1 AND next_run_at IS NOT NULL;

CREATE INDEX schedules_enabled ON schedules (enabled, created_at);

CREATE INDEX schedules_interface ON schedules (capture_interface_id, created_at);

CREATE INDEX schedules_node ON schedules (node_id, created_at);

CREATE INDEX schedules_profile ON schedules (recording_profile_id);

CREATE INDEX schedules_retention ON schedules (retention_policy_id);

CREATE INDEX schedules_room ON schedules (room_id, next_run_at);

CREATE INDEX schedules_watchdog ON schedules (watchdog_policy_id);

CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE INDEX sessions_user ON sessions (user_id);

CREATE INDEX sign_in_links_user ON sign_in_links (user_id);

CREATE INDEX ssh_credentials_node ON ssh_credentials (node_id, state);

CREATE INDEX ssh_credentials_token ON ssh_credentials (confirmed_by);

CREATE INDEX switcher_inputs_room ON switcher_inputs (room_id);

CREATE INDEX switcher_outputs_user ON switcher_outputs (user_id);

CREATE INDEX switchers_event ON switchers (unreachable_event);

CREATE INDEX switchers_name ON switchers (display_name COLLATE NOCASE, id);

CREATE INDEX upload_policies_destination ON upload_policies (destination_id);

CREATE INDEX upload_queue_both ON upload_queue (provider, status, next_attempt_at, id, scope_id);

CREATE INDEX upload_queue_claimed ON upload_queue (claim) WHERE claim IS NOT NULL;

CREATE INDEX upload_queue_due ON upload_queue (destination_id, next_attempt_at) WHERE status IN ('queued', 'retrying');

CREATE INDEX upload_queue_next ON upload_queue (next_attempt_at, id, scope_id);

CREATE INDEX upload_queue_policy ON upload_queue (upload_policy_id);

CREATE INDEX upload_queue_provider ON upload_queue (provider, next_attempt_at, id, scope_id);

CREATE INDEX upload_queue_recording ON upload_queue (recording_id, next_attempt_at, id);

CREATE INDEX upload_queue_release ON upload_queue (updated_at) WHERE release_pending = 1;

CREATE INDEX upload_queue_scope ON upload_queue (scope_id, status, provider, next_attempt_at, id);

CREATE INDEX upload_queue_status ON upload_queue (status, next_attempt_at, id, scope_id);

CREATE INDEX user_grants_resource ON user_grants (resource_id, resource_type);

CREATE TRIGGER audit_actors_stay BEFORE UPDATE ON audit_actors BEGIN
  SELECT raise(ABORT, 'audit events are never changed');
END;

CREATE TRIGGER audit_contexts_stay BEFORE UPDATE ON audit_contexts BEGIN
  SELECT raise(ABORT, 'audit events are never changed');
END;

CREATE TRIGGER audit_deeds_stay BEFORE UPDATE ON audit_deeds BEGIN
  SELECT raise(ABORT, 'audit events are never changed');
END;

CREATE TRIGGER audit_is_append_only BEFORE UPDATE ON audit_rows BEGIN
  SELECT raise(ABORT, 'audit events are never changed');
END;

CREATE TRIGGER audit_kinds_stay BEFORE UPDATE ON audit_kinds BEGIN
  SELECT raise(ABORT, 'audit events are never changed');
END;

CREATE TRIGGER audit_leaves_by_retention_only BEFORE DELETE ON audit_rows
WHEN NOT EXISTS (
  SELECT 1 FROM audit_retention_gate
   WHERE strftime('%Y-%m-%dT%H:%M:%fZ', (old.at >> 11) / 1000.0, 'unixepoch') < delete_before
) BEGIN
  SELECT raise(ABORT, 'audit events leave by retention only');
END;

CREATE TRIGGER audit_targets_stay BEFORE UPDATE ON audit_targets BEGIN
  SELECT raise(ABORT, 'audit events are never changed');
END;

CREATE TRIGGER channel_enters AFTER INSERT ON channels WHEN NEW.room_id IS NOT NULL BEGIN
  INSERT INTO room_channels (room_id, node_id, n) SELECT NEW.room_id, node_id, 1 FROM interfaces WHERE id = NEW.interface_id
    ON CONFLICT (room_id, node_id) DO UPDATE SET n = n + 1;
END;

CREATE TRIGGER channel_is_told AFTER INSERT ON channels BEGIN
  UPDATE interfaces SET channels_json = NULL WHERE id = new.interface_id AND channels_json IS NOT NULL;
END;

CREATE TRIGGER channel_is_told_anew AFTER UPDATE ON channels BEGIN
  UPDATE interfaces SET channels_json = NULL WHERE id IN (old.interface_id, new.interface_id) AND channels_json IS NOT NULL;
END;

CREATE TRIGGER channel_is_told_no_more AFTER DELETE ON channels BEGIN
  UPDATE interfaces SET channels_json = NULL WHERE id = old.interface_id AND channels_json IS NOT NULL;
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

CREATE TRIGGER channels_are_counted_anew AFTER UPDATE OF channel_count ON interfaces WHEN old.channel_count <> new.channel_count BEGIN
  UPDATE interfaces SET channels_json = NULL WHERE id = new.id;
END;

CREATE TRIGGER detachments_room_deleted AFTER DELETE ON rooms BEGIN
  DELETE FROM detachments WHERE kind = 'room' AND owner_id = old.id;
END;

CREATE TRIGGER detachments_schedule_deleted AFTER DELETE ON schedules BEGIN
  DELETE FROM detachments WHERE kind = 'schedule' AND owner_id = old.id;
END;

CREATE TRIGGER health_counted AFTER UPDATE OF cell ON health_events WHEN new.cell IS NULL AND old.cell IS NOT NULL BEGIN
  UPDATE health_cells SET n = n - 1 WHERE id = old.cell;
  INSERT INTO health_cells (scope_id, of_recording, node_id, schedule_id, type_id, severity, status, n, total)
    SELECT scope_id, of_recording, node_id, schedule_id, type_id, severity, status, 1, 0 FROM health_places WHERE seq = new.seq
    ON CONFLICT DO UPDATE SET n = n + 1;
  UPDATE health_events SET cell = (
    SELECT c.id FROM health_places p JOIN health_cells c ON c.scope_id = p.scope_id AND c.of_recording = p.of_recording
        AND c.node_id = p.node_id AND c.schedule_id = p.schedule_id AND c.type_id = p.type_id AND c.severity = p.severity
        AND c.status = p.status
     WHERE p.seq = new.seq)
   WHERE seq = new.seq;
END;

CREATE TRIGGER health_gone AFTER DELETE ON health_events BEGIN
  UPDATE health_cells SET n = n - 1 WHERE id = old.cell;
END;

CREATE TRIGGER health_is_searched AFTER INSERT ON health_events BEGIN
  UPDATE health_events SET doc = (SELECT coalesce(max(doc), 0) + 1 FROM health_events) WHERE seq = new.seq;
  INSERT INTO health_search (rowid, words) SELECT doc, words FROM health_words WHERE seq = new.seq;
END;

CREATE TRIGGER health_is_searched_anew AFTER UPDATE OF status ON health_events BEGIN
  UPDATE health_search SET words = (SELECT words FROM health_words WHERE seq = new.seq) WHERE rowid = new.doc;
END;

CREATE TRIGGER health_is_searched_no_more AFTER DELETE ON health_events BEGIN
  DELETE FROM health_search WHERE rowid = old.doc;
END;

CREATE TRIGGER health_moved AFTER UPDATE OF status, severity ON health_events
WHEN (old.status, old.severity) IS NOT (new.status, new.severity) BEGIN
  UPDATE health_events SET cell = NULL WHERE seq = new.seq;
  UPDATE health_cells SET total = total + 1 WHERE id = (SELECT cell FROM health_events WHERE seq = new.seq);
END;

CREATE TRIGGER health_opened AFTER INSERT ON health_events BEGIN
  INSERT OR IGNORE INTO health_types (type) SELECT new.type WHERE (SELECT count(*) FROM health_types) <= 200;
  UPDATE health_events SET cell = NULL WHERE seq = new.seq;
  UPDATE health_cells SET total = total + 1 WHERE id = (SELECT cell FROM health_events WHERE seq = new.seq);
END;

CREATE TRIGGER job_kinds_gone AFTER DELETE ON job_cells BEGIN
  DELETE FROM job_kinds WHERE id = old.kind_id AND NOT EXISTS (SELECT 1 FROM job_cells WHERE kind_id = old.kind_id);
END;

CREATE TRIGGER jobs_added AFTER INSERT ON recording_jobs BEGIN
  UPDATE recording_jobs SET cell = NULL WHERE seq = new.seq;
  INSERT INTO job_grams (rowid, ids)
    VALUES (new.seq, new.id || ' ' || new.recording_id || ' ' || coalesce(json_extract(new.command, '$.outputFileName'), ''));
END;

CREATE TRIGGER jobs_counted AFTER UPDATE OF cell ON recording_jobs WHEN new.cell IS NULL AND old.cell IS NOT NULL BEGIN
  UPDATE job_cells SET n = n - 1 WHERE id = old.cell;
  DELETE FROM job_cells WHERE id = old.cell AND n = 0;
  -- Not OR IGNORE: what fires a trigger overrules that, and a foreign key that sets NULL does.
  INSERT INTO job_kinds (node_id, status, backend, interface, words)
    SELECT node_id, status, backend, interface, words FROM job_words WHERE seq = new.seq ON CONFLICT DO NOTHING;
  INSERT INTO job_cells (kind_id, node_id, room_id, schedule_id, n)
    SELECT k.id, coalesce(r.node_id, ''), coalesce(r.room_id, ''), coalesce(r.schedule_id, ''), 1
      FROM job_words w CROSS JOIN job_kinds k ON k.node_id = w.node_id AND k.status = w.status AND k.backend = w.backend
        AND k.interface = w.interface AND k.words = w.words CROSS JOIN recordings r ON r.id = w.recording_id
     WHERE w.seq = new.seq
    ON CONFLICT DO UPDATE SET n = n + 1;
  UPDATE recording_jobs SET cell = (
    SELECT c.id FROM job_words w CROSS JOIN job_kinds k ON k.node_id = w.node_id AND k.status = w.status
        AND k.backend = w.backend AND k.interface = w.interface AND k.words = w.words
      CROSS JOIN recordings r ON r.id = w.recording_id
      CROSS JOIN job_cells c ON c.kind_id = k.id AND c.node_id = coalesce(r.node_id, '')
        AND c.room_id = coalesce(r.room_id, '') AND c.schedule_id = coalesce(r.schedule_id, '')
     WHERE w.seq = new.seq)
   WHERE seq = new.seq;
END;

CREATE TRIGGER jobs_gone AFTER DELETE ON recording_jobs BEGIN
  UPDATE job_cells SET n = n - 1 WHERE id = old.cell;
  DELETE FROM job_cells WHERE id = old.cell AND n = 0;
  DELETE FROM job_grams WHERE rowid = old.seq;
END;

CREATE TRIGGER jobs_moved AFTER UPDATE OF status, claimed_by, failure_reason, node_id ON recording_jobs
WHEN (old.status, old.claimed_by, old.failure_reason, old.node_id) IS NOT (new.status, new.claimed_by, new.failure_reason, new.node_id)
BEGIN
  UPDATE recording_jobs SET cell = NULL WHERE seq = new.seq;
END;

CREATE TRIGGER library_begun AFTER UPDATE OF keeps_library ON upload_destinations
WHEN new.keeps_library = 1 AND old.keeps_library = 0 BEGIN
  INSERT INTO library_walks (destination_id) VALUES (new.id) ON CONFLICT DO UPDATE SET seq = 0;
END;

CREATE TRIGGER library_moved AFTER UPDATE OF place ON upload_destinations WHEN new.place <> old.place BEGIN
  INSERT INTO library_moves (destination_id, place) VALUES (new.id, new.place)
    ON CONFLICT DO UPDATE SET place = excluded.place, recording_id = '', checksum = '', skipped = 0;
  -- What is being sent goes to the former place: it is sent again.
  UPDATE upload_queue SET claim = NULL, attempt_count = attempt_count - 1, next_attempt_at = new.updated_at
    WHERE destination_id = new.id AND claim IS NOT NULL;
END;

CREATE TRIGGER manifest_of_chunk AFTER INSERT ON recording_chunk_files BEGIN
  INSERT INTO manifest_queue (recording_id, due_at)
    SELECT id, iif(status = 'recording' AND new.idx > 1, strftime('%Y-%m-%dT%H:%M:%fZ', new.stored_at, '+300 seconds'), '')
      FROM recordings WHERE id = new.recording_id
    ON CONFLICT DO UPDATE SET revision = revision + 1, attempts = 0, due_at = min(due_at, excluded.due_at);
END;

CREATE TRIGGER manifest_of_file AFTER INSERT ON recording_files BEGIN
  INSERT INTO manifest_queue (recording_id) VALUES (new.recording_id)
    ON CONFLICT DO UPDATE SET revision = revision + 1, attempts = 0, due_at = '';
END;

CREATE TRIGGER manifest_of_moved AFTER UPDATE OF place ON remote_copies WHEN new.place <> old.place BEGIN
  INSERT INTO manifest_queue (recording_id, destination_id) VALUES (new.recording_id, new.destination_id)
    ON CONFLICT DO UPDATE SET revision = revision + 1, attempts = 0, due_at = '';
END;

CREATE TRIGGER manifest_of_other_chunk AFTER UPDATE ON recording_chunk_files BEGIN
  INSERT INTO manifest_queue (recording_id) VALUES (new.recording_id)
    ON CONFLICT DO UPDATE SET revision = revision + 1, attempts = 0, due_at = '';
END;

CREATE TRIGGER manifest_of_other_file AFTER UPDATE ON recording_files BEGIN
  INSERT INTO manifest_queue (recording_id) VALUES (new.recording_id)
    ON CONFLICT DO UPDATE SET revision = revision + 1, attempts = 0, due_at = '';
END;

CREATE TRIGGER manifest_of_recording AFTER UPDATE OF name, folder, notes, transcript_snippets, source, status, health_status,
  recorded_at, duration_seconds, node_id, room_id, schedule_id, recording_profile_id, retention_policy_id, watchdog_policy_id
ON recordings WHEN new.cached = 1 OR EXISTS (SELECT 1 FROM recording_chunk_files WHERE recording_id = new.id) BEGIN
  INSERT INTO manifest_queue (recording_id, due_at)
    VALUES (new.id, iif(new.status = 'recording', strftime('%Y-%m-%dT%H:%M:%fZ', new.updated_at, '+300 seconds'), ''))
    ON CONFLICT DO UPDATE SET revision = revision + 1, attempts = 0, due_at = min(due_at, excluded.due_at);
END;

CREATE TRIGGER manifest_of_uploaded AFTER UPDATE OF status ON upload_queue
WHEN new.status = 'succeeded' AND old.status <> 'succeeded' BEGIN
  INSERT INTO manifest_queue (recording_id, destination_id) VALUES (new.recording_id, new.destination_id)
    ON CONFLICT DO UPDATE SET revision = revision + 1, attempts = 0, due_at = '';
END;

CREATE TRIGGER manifest_queued AFTER INSERT ON manifest_queue WHEN new.destination_id = '' BEGIN
  INSERT INTO manifest_queue (recording_id, destination_id)
    SELECT DISTINCT recording_id, destination_id FROM upload_queue WHERE recording_id = new.recording_id AND status = 'succeeded'
    ON CONFLICT DO UPDATE SET revision = revision + 1, attempts = 0, due_at = '';
END;

CREATE TRIGGER manifest_queued_again AFTER UPDATE OF revision ON manifest_queue WHEN new.destination_id = '' BEGIN
  INSERT INTO manifest_queue (recording_id, destination_id)
    SELECT DISTINCT recording_id, destination_id FROM upload_queue WHERE recording_id = new.recording_id AND status = 'succeeded'
    ON CONFLICT DO UPDATE SET revision = revision + 1, attempts = 0, due_at = '';
END;

CREATE TRIGGER manifest_without_chunk AFTER DELETE ON recording_chunk_files BEGIN
  INSERT INTO manifest_queue (recording_id) SELECT id FROM recordings WHERE id = old.recording_id
    ON CONFLICT DO UPDATE SET revision = revision + 1, attempts = 0, due_at = '';
END;

CREATE TRIGGER manifest_without_file AFTER DELETE ON recording_files BEGIN
  INSERT INTO manifest_queue (recording_id) SELECT id FROM recordings WHERE id = old.recording_id
    ON CONFLICT DO UPDATE SET revision = revision + 1, attempts = 0, due_at = '';
END;

CREATE TRIGGER manifests_of_node AFTER UPDATE OF alias, site, room ON nodes
WHEN (old.alias, old.site, old.room) IS NOT (new.alias, new.site, new.room) BEGIN
  INSERT INTO manifest_walks (kind, id) VALUES ('node', new.id) ON CONFLICT DO UPDATE SET at = '', seq = 0;
END;

CREATE TRIGGER manifests_of_room AFTER UPDATE OF site, name, building, floor ON rooms
WHEN (old.site, old.name, old.building, old.floor) IS NOT (new.site, new.name, new.building, new.floor) BEGIN
  INSERT INTO manifest_walks (kind, id) VALUES ('room', new.id) ON CONFLICT DO UPDATE SET at = '', seq = 0;
END;

CREATE TRIGGER manifests_of_schedule AFTER UPDATE OF name ON schedules WHEN old.name <> new.name BEGIN
  INSERT INTO manifest_walks (kind, id) VALUES ('schedule', new.id) ON CONFLICT DO UPDATE SET at = '', seq = 0;
END;

CREATE TRIGGER recording_facets_added AFTER INSERT ON recording_facets BEGIN
  INSERT INTO recording_facet_totals VALUES (new.facet, new.value, new.n)
    ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;

CREATE TRIGGER recording_facets_counted AFTER UPDATE OF n ON recording_facets BEGIN
  UPDATE recording_facet_totals SET n = n + new.n - old.n WHERE facet = new.facet AND value = new.value;
  DELETE FROM recording_facet_totals WHERE facet = new.facet AND value = new.value AND n = 0;
  DELETE FROM recording_facets WHERE scope_id = new.scope_id AND facet = new.facet AND value = new.value AND n = 0;
END;

CREATE TRIGGER recording_files_added AFTER INSERT ON recording_files BEGIN
  UPDATE recordings SET cached = 1 WHERE id = new.recording_id AND cached = 0;
  UPDATE recordings SET local = 1 WHERE id = new.recording_id AND local < new.local;
END;

CREATE TRIGGER recording_files_gone AFTER DELETE ON recording_files BEGIN
  UPDATE recordings SET local = 0
   WHERE id = old.recording_id AND local = 1
     AND NOT EXISTS (SELECT 1 FROM recording_files WHERE recording_id = old.recording_id AND local = 1);
  UPDATE recordings SET cached = 0
   WHERE id = old.recording_id AND cached = 1
     AND NOT EXISTS (SELECT 1 FROM recording_files WHERE recording_id = old.recording_id);
END;

CREATE TRIGGER recording_files_moved AFTER UPDATE OF local ON recording_files WHEN new.local IS NOT old.local BEGIN
  UPDATE recordings SET local = EXISTS (SELECT 1 FROM recording_files WHERE recording_id = new.recording_id AND local = 1)
   WHERE id = new.recording_id;
END;

CREATE TRIGGER recording_policies_added AFTER INSERT ON recording_upload_policies BEGIN
  INSERT INTO recording_facets (facet, value, scope_id, n)
    SELECT 'upload_policy', new.policy_id, c.scope_id, 1 FROM recordings r JOIN recording_cells c ON c.id = r.cell
     WHERE r.id = new.recording_id
    ON CONFLICT DO UPDATE SET n = n + 1;
END;

CREATE TRIGGER recording_policies_gone AFTER DELETE ON recording_upload_policies BEGIN
  UPDATE recording_facets SET n = n - 1
   WHERE scope_id = (SELECT c.scope_id FROM recordings r JOIN recording_cells c ON c.id = r.cell WHERE r.id = old.recording_id)
     AND facet = 'upload_policy' AND value = old.policy_id;
END;

CREATE TRIGGER recording_tags_added AFTER INSERT ON recording_tags BEGIN
  INSERT INTO recording_facets (facet, value, scope_id, n)
    SELECT 'tag', new.tag, c.scope_id, 1 FROM recordings r JOIN recording_cells c ON c.id = r.cell WHERE r.id = new.recording_id
    ON CONFLICT DO UPDATE SET n = n + 1;
END;

CREATE TRIGGER recording_tags_gone AFTER DELETE ON recording_tags BEGIN
  UPDATE recording_facets SET n = n - 1
   WHERE scope_id = (SELECT c.scope_id FROM recordings r JOIN recording_cells c ON c.id = r.cell WHERE r.id = old.recording_id)
     AND facet = 'tag' AND value = old.tag;
END;

CREATE TRIGGER recordings_added AFTER INSERT ON recordings BEGIN
  INSERT INTO recording_scopes (node_id, room_id, schedule_id)
    VALUES (coalesce(new.node_id, ''), coalesce(new.room_id, ''), coalesce(new.schedule_id, '')) ON CONFLICT DO NOTHING;
  INSERT INTO recording_cells (scope_id, profile_id, source, status, health, cached, n)
    SELECT id, coalesce(new.recording_profile_id, ''), new.source, new.status, new.health_status, new.cached, 1
      FROM recording_scopes
     WHERE node_id = coalesce(new.node_id, '') AND room_id = coalesce(new.room_id, '') AND schedule_id = coalesce(new.schedule_id, '')
    ON CONFLICT DO UPDATE SET n = n + 1;
  UPDATE recordings SET cell = (
    SELECT c.id FROM recording_scopes s CROSS JOIN recording_cells c ON c.scope_id = s.id
     WHERE s.node_id = coalesce(new.node_id, '') AND s.room_id = coalesce(new.room_id, '') AND s.schedule_id = coalesce(new.schedule_id, '')
       AND c.profile_id = coalesce(new.recording_profile_id, '') AND c.source = new.source AND c.status = new.status
       AND c.health = new.health_status AND c.cached = new.cached)
   WHERE seq = new.seq;
  INSERT INTO recording_facets (facet, value, scope_id, n)
    SELECT 'folder', new.folder, c.scope_id, 1 FROM recordings r JOIN recording_cells c ON c.id = r.cell WHERE r.seq = new.seq
    ON CONFLICT DO UPDATE SET n = n + 1;
END;

CREATE TRIGGER recordings_going BEFORE DELETE ON recordings BEGIN
  DELETE FROM recording_tags WHERE recording_id = old.id;
  DELETE FROM recording_upload_policies WHERE recording_id = old.id;
END;

CREATE TRIGGER recordings_gone AFTER DELETE ON recordings BEGIN
  UPDATE recording_facets SET n = n - 1
   WHERE scope_id = (SELECT scope_id FROM recording_cells WHERE id = old.cell) AND facet = 'folder' AND value = old.folder;
  UPDATE recording_cells SET n = n - 1 WHERE id = old.cell;
  DELETE FROM recording_cells WHERE id = old.cell AND n = 0;
  DELETE FROM recording_texts WHERE seq = old.seq;
  DELETE FROM recording_grams WHERE rowid = old.seq;
END;

CREATE TRIGGER recordings_leave_health AFTER DELETE ON recordings BEGIN
  UPDATE health_events SET cell = NULL WHERE recording_id = old.id;
END;

CREATE TRIGGER recordings_move_health AFTER UPDATE OF cell ON recordings
WHEN old.cell IS NOT NULL AND (SELECT scope_id FROM recording_cells WHERE id = old.cell) IS NOT (SELECT scope_id FROM recording_cells WHERE id = new.cell)
BEGIN
  UPDATE health_events SET cell = NULL WHERE recording_id = new.id;
END;

CREATE TRIGGER recordings_move_jobs AFTER UPDATE OF node_id, room_id, schedule_id ON recordings
WHEN (old.node_id, old.room_id, old.schedule_id) IS NOT (new.node_id, new.room_id, new.schedule_id) BEGIN
  UPDATE recording_jobs SET cell = NULL WHERE recording_id = new.id;
END;

CREATE TRIGGER recordings_moved AFTER UPDATE OF node_id, room_id, schedule_id, recording_profile_id, source, status, health_status, cached
ON recordings WHEN (old.node_id, old.room_id, old.schedule_id, old.recording_profile_id, old.source, old.status, old.health_status, old.cached)
  IS NOT (new.node_id, new.room_id, new.schedule_id, new.recording_profile_id, new.source, new.status, new.health_status, new.cached)
BEGIN
  UPDATE recording_cells SET n = n - 1 WHERE id = old.cell;
  INSERT INTO recording_scopes (node_id, room_id, schedule_id)
    VALUES (coalesce(new.node_id, ''), coalesce(new.room_id, ''), coalesce(new.schedule_id, '')) ON CONFLICT DO NOTHING;
  INSERT INTO recording_cells (scope_id, profile_id, source, status, health, cached, n)
    SELECT id, coalesce(new.recording_profile_id, ''), new.source, new.status, new.health_status, new.cached, 1
      FROM recording_scopes
     WHERE node_id = coalesce(new.node_id, '') AND room_id = coalesce(new.room_id, '') AND schedule_id = coalesce(new.schedule_id, '')
    ON CONFLICT DO UPDATE SET n = n + 1;
  UPDATE recordings SET cell = (
    SELECT c.id FROM recording_scopes s CROSS JOIN recording_cells c ON c.scope_id = s.id
     WHERE s.node_id = coalesce(new.node_id, '') AND s.room_id = coalesce(new.room_id, '') AND s.schedule_id = coalesce(new.schedule_id, '')
       AND c.profile_id = coalesce(new.recording_profile_id, '') AND c.source = new.source AND c.status = new.status
       AND c.health = new.health_status AND c.cached = new.cached)
   WHERE seq = new.seq;
END;

CREATE TRIGGER recordings_refiled AFTER UPDATE OF folder ON recordings WHEN old.folder <> new.folder BEGIN
  UPDATE recording_facets SET n = n - 1
   WHERE scope_id = (SELECT scope_id FROM recording_cells WHERE id = old.cell) AND facet = 'folder' AND value = old.folder;
  INSERT INTO recording_facets (facet, value, scope_id, n)
    SELECT 'folder', new.folder, scope_id, 1 FROM recording_cells WHERE id = old.cell
    ON CONFLICT DO UPDATE SET n = n + 1;
END;

CREATE TRIGGER recordings_rescoped AFTER UPDATE OF cell ON recordings
WHEN old.cell IS NOT NULL AND new.cell <> old.cell BEGIN
  UPDATE recording_facets SET n = n - 1
   WHERE (scope_id, facet, value) IN (
     SELECT (SELECT scope_id FROM recording_cells WHERE id = old.cell), v.facet, v.value FROM recording_values v
      WHERE v.seq = new.seq AND (SELECT scope_id FROM recording_cells WHERE id = old.cell) <> (SELECT scope_id FROM recording_cells WHERE id = new.cell));
  INSERT INTO recording_facets (facet, value, scope_id, n)
    SELECT v.facet, v.value, (SELECT scope_id FROM recording_cells WHERE id = new.cell), 1 FROM recording_values v
     WHERE v.seq = new.seq AND (SELECT scope_id FROM recording_cells WHERE id = old.cell) <> (SELECT scope_id FROM recording_cells WHERE id = new.cell)
    ON CONFLICT DO UPDATE SET n = n + 1;
  DELETE FROM recording_cells WHERE id = old.cell AND n = 0;
END;

CREATE TRIGGER schedule_is_stamped AFTER INSERT ON schedules BEGIN
  UPDATE schedules SET stamp = random() & 9007199254740991 WHERE id = new.id;
END;

CREATE TRIGGER schedule_is_stamped_anew
AFTER UPDATE OF name, node_id, room, room_id, timezone, recurrence, anchor_date, next_run_at, created_at ON schedules BEGIN
  UPDATE schedules SET stamp = random() & 9007199254740991 WHERE id = new.id;
END;

CREATE TRIGGER upload_counted AFTER UPDATE OF scope_id, provider, status ON upload_queue
WHEN (old.scope_id, old.provider, old.status) IS NOT (new.scope_id, new.provider, new.status) BEGIN
  UPDATE upload_cells SET n = n - 1 WHERE scope_id = old.scope_id AND provider = old.provider AND status = old.status;
  INSERT INTO upload_cells SELECT new.scope_id, new.provider, new.status, 1, 0 WHERE new.scope_id IS NOT NULL
    ON CONFLICT DO UPDATE SET n = n + 1;
  UPDATE upload_cells SET failures = failures + max(1, new.attempt_count)
   WHERE scope_id = new.scope_id AND provider = new.provider AND status = new.status
     AND new.status = 'failed' AND (old.scope_id IS NULL OR old.status <> 'failed');
END;

CREATE TRIGGER upload_gone AFTER DELETE ON upload_queue BEGIN
  UPDATE upload_cells SET n = n - 1 WHERE scope_id = old.scope_id AND provider = old.provider AND status = old.status;
END;

CREATE TRIGGER upload_queue_rescoped AFTER UPDATE OF cell ON recordings WHEN new.cell IS NOT old.cell BEGIN
  UPDATE upload_queue SET scope_id = (SELECT c.scope_id FROM recording_cells c WHERE c.id = new.cell)
   WHERE recording_id = new.id AND scope_id IS NOT (SELECT c.scope_id FROM recording_cells c WHERE c.id = new.cell);
END;

CREATE TRIGGER upload_queue_scoped AFTER INSERT ON upload_queue BEGIN
  UPDATE upload_queue SET scope_id = (
    SELECT c.scope_id FROM recordings r JOIN recording_cells c ON c.id = r.cell WHERE r.id = new.recording_id)
   WHERE id = new.id;
END;
