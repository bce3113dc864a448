-- What lists that are asked for again and again would otherwise put together at each request.

-- The channels of a device in wire format, as JSON. NULL: changed since it was read last, and put together at the next reading.
ALTER TABLE interfaces ADD COLUMN channels_json TEXT CHECK (channels_json IS NULL OR json_valid(channels_json));
CREATE TRIGGER channel_is_told AFTER INSERT ON channels BEGIN
  UPDATE interfaces SET channels_json = NULL WHERE id = new.interface_id AND channels_json IS NOT NULL;
END;
CREATE TRIGGER channel_is_told_anew AFTER UPDATE ON channels BEGIN
  UPDATE interfaces SET channels_json = NULL WHERE id IN (old.interface_id, new.interface_id) AND channels_json IS NOT NULL;
END;
CREATE TRIGGER channel_is_told_no_more AFTER DELETE ON channels BEGIN
  UPDATE interfaces SET channels_json = NULL WHERE id = old.interface_id AND channels_json IS NOT NULL;
END;
CREATE TRIGGER channels_are_counted_anew AFTER UPDATE OF channel_count ON interfaces WHEN old.channel_count <> new.channel_count BEGIN
  UPDATE interfaces SET channels_json = NULL WHERE id = new.id;
END;

-- What the calendar keeps of a schedule in memory holds as long as this stays the same. Drawn, not counted: what was undone
-- must not come back as something else.
ALTER TABLE schedules ADD COLUMN stamp INTEGER NOT NULL DEFAULT 0;
CREATE TRIGGER schedule_is_stamped AFTER INSERT ON schedules BEGIN
  UPDATE schedules SET stamp = random() & 9007199254740991 WHERE id = new.id;
END;
CREATE TRIGGER schedule_is_stamped_anew
AFTER UPDATE OF name, node_id, room, room_id, timezone, recurrence, anchor_date, next_run_at, created_at ON schedules BEGIN
  UPDATE schedules SET stamp = random() & 9007199254740991 WHERE id = new.id;
END;
-- Who sees which of them is read from here alone.
CREATE INDEX schedules_calendar ON schedules (enabled, id, room_id, node_id, stamp);
