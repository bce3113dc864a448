-- Ways to tell people and programs. The kind's own options are stored and returned whole; the secret is sealed, bound to its row.
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
CREATE UNIQUE INDEX notification_channel_for_people ON notification_channels (for_people) WHERE for_people = 1;

-- Who is told of what. What a rule leaves out is absent in `choice`.
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
CREATE INDEX notification_rules_channel ON notification_rules (channel_id);
CREATE INDEX notification_rules_escalation ON notification_rules (escalate_channel_id) WHERE escalate_channel_id IS NOT NULL;

-- People's own choice.
CREATE TABLE notification_people (
  user_id      TEXT PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  enabled      INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  min_severity TEXT NOT NULL CHECK (min_severity IN ('info', 'warning', 'critical')),
  since        TEXT NOT NULL                  -- events that began before are not told
) STRICT, WITHOUT ROWID;
CREATE INDEX notification_people_enabled ON notification_people (user_id) WHERE enabled = 1;

-- Messages, in the order of each channel's queue. Channel, rule and event are named, not referenced: the history outlives them.
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
CREATE INDEX notifications_queue ON notifications (channel_id, held, seq) WHERE status = 'queued';
CREATE INDEX notifications_held ON notifications (channel_id, next_attempt_at) WHERE status = 'queued' AND held > 0;
CREATE INDEX notifications_due ON notifications (next_attempt_at) WHERE status = 'queued';
CREATE INDEX notifications_sending ON notifications (channel_id) WHERE status = 'sending';
CREATE INDEX notifications_ended ON notifications (created_at) WHERE status IN ('sent', 'failed');
CREATE INDEX notifications_event ON notifications (health_event_id, rule_id, user_id) WHERE health_event_id IS NOT NULL;
CREATE INDEX notifications_topic ON notifications (topic, rule_id, user_id, seq) WHERE topic IS NOT NULL;
CREATE INDEX notifications_user ON notifications (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX notifications_sent ON notifications (channel_id, sent_at) WHERE status = 'sent';
CREATE INDEX notifications_batch ON notifications (batch) WHERE batch IS NOT NULL;
CREATE INDEX notifications_channel ON notifications (channel_id, seq);
CREATE INDEX notifications_rule ON notifications (rule_id, seq);
CREATE INDEX notifications_status ON notifications (status, seq);
CREATE UNIQUE INDEX notifications_acknowledge ON notifications (acknowledge_hash) WHERE acknowledge_hash IS NOT NULL;

-- Events whose people are still to be told: done in slices, outside of the transaction that opened or resolved the event.
CREATE TABLE notification_fanouts (
  seq             INTEGER PRIMARY KEY,
  health_event_id TEXT NOT NULL,
  kind            TEXT NOT NULL CHECK (kind IN ('event', 'resolved')),
  severity        TEXT NOT NULL,
  content         TEXT NOT NULL CHECK (json_valid(content)),
  after_user      TEXT NOT NULL DEFAULT '',
  created_at      TEXT NOT NULL
) STRICT;
CREATE INDEX notification_fanouts_event ON notification_fanouts (health_event_id);
