-- Substrings of three characters and more. Renewed with the status, not with every reading the watchdog takes.
-- Without positions a quarter of the size: a hit is a candidate whose words are compared.
CREATE VIRTUAL TABLE health_search USING fts5 (words, content = '', contentless_delete = 1, detail = 'none', tokenize = 'trigram');
CREATE VIEW health_words (seq, doc, words) AS
  SELECT seq, doc, type || ' ' || coalesce(node_id, '') || ' ' || coalesce(recording_id, '') || ' ' || coalesce(schedule_id, '')
    || ' ' || substr(details, 1, 4000) FROM health_events;
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
