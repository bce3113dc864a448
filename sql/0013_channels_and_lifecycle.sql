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
CREATE INDEX channel_map_templates_created ON channel_map_templates (created_at, id);

-- One map per target. It hangs on the persisted interface id, which survives inventory reports.
CREATE TABLE channel_map_assignments (
  id           TEXT PRIMARY KEY NOT NULL,
  target_type  TEXT NOT NULL CHECK (target_type IN ('interface', 'node')),
  interface_id TEXT UNIQUE REFERENCES interfaces (id) ON DELETE CASCADE,
  node_id      TEXT UNIQUE REFERENCES nodes (id) ON DELETE CASCADE,
  template_id  TEXT NOT NULL REFERENCES channel_map_templates (id) ON DELETE RESTRICT,
  assigned_at  TEXT NOT NULL,
  CHECK ((target_type = 'interface') = (interface_id IS NOT NULL) AND (target_type = 'node') = (node_id IS NOT NULL))
) STRICT;
CREATE INDEX channel_map_assignments_assigned ON channel_map_assignments (assigned_at, id);
CREATE INDEX channel_map_assignments_template ON channel_map_assignments (template_id);

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
CREATE INDEX channel_map_assignment_events_of ON channel_map_assignment_events (assignment_id, seq);

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
CREATE INDEX channel_map_plans_created ON channel_map_plans (created_at, id);
CREATE INDEX channel_map_plans_template ON channel_map_plans (template_id);

-- What was asked of the lifecycle runner, and what came of it (docs/contract/lifecycle.md: Actions).
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
CREATE INDEX node_lifecycle_jobs_node ON node_lifecycle_jobs (node_id, requested_at);
CREATE INDEX node_lifecycle_jobs_running ON node_lifecycle_jobs (status) WHERE status = 'running';
-- Two hands on one machine at once leave it in a state nobody asked for.
CREATE UNIQUE INDEX one_running_lifecycle_job ON node_lifecycle_jobs (node_id) WHERE status = 'running';

CREATE TABLE controller_settings (
  id                           INTEGER PRIMARY KEY CHECK (id = 1),
  controller_name              TEXT NOT NULL,
  week_starts_on               TEXT NOT NULL CHECK (week_starts_on IN ('sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday')),
  default_recording_profile_id TEXT REFERENCES recording_profiles (id) ON DELETE SET NULL,
  default_retention_policy_id  TEXT REFERENCES retention_policies (id) ON DELETE SET NULL,
  default_upload_policy_id     TEXT REFERENCES upload_policies (id) ON DELETE SET NULL,
  default_watchdog_policy_id   TEXT REFERENCES watchdog_policies (id) ON DELETE SET NULL,
  updated_at                   TEXT NOT NULL
) STRICT;
CREATE INDEX controller_settings_profile ON controller_settings (default_recording_profile_id);
CREATE INDEX controller_settings_retention ON controller_settings (default_retention_policy_id);
CREATE INDEX controller_settings_upload ON controller_settings (default_upload_policy_id);
CREATE INDEX controller_settings_watchdog ON controller_settings (default_watchdog_policy_id);
INSERT INTO controller_settings (id, controller_name, week_starts_on, updated_at) VALUES (1, 'Roomtone Controller', 'monday', '1970-01-01T00:00:00.000Z');

-- What a search for nodes looks at: every word of a node, its interfaces and channels once, lower case. Kept by the
-- store beside the node, not in it: heartbeats rewrite that row all the time.
CREATE TABLE node_search (
  node_id TEXT PRIMARY KEY NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
  words   TEXT NOT NULL
) STRICT, WITHOUT ROWID;
