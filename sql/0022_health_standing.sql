-- What stands at a recorder: looked up when it tells that something is over.
CREATE INDEX health_standing ON health_events (node_id, type) WHERE status <> 'resolved';
