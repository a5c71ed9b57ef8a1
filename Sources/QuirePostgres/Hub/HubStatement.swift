// The statements that a hub's server is sent, all of them.

#if Postgres
  /// What a member of a hub says to PostgreSQL: the subset of SQL that others who speak its protocol take as well.
  enum HubStatement: String, CaseIterable {
    case createHubs = """
      CREATE TABLE IF NOT EXISTS quire_hub (hub text PRIMARY KEY, last bigint NOT NULL)
      """
    case createMembers = """
      CREATE TABLE IF NOT EXISTS quire_hub_member (hub text NOT NULL, origin text NOT NULL, lineage text NOT NULL, \
      number bigint NOT NULL, token bigint NOT NULL, outcome bytea NOT NULL, PRIMARY KEY (hub, origin))
      """
    case createPushes = """
      CREATE TABLE IF NOT EXISTS quire_hub_push (hub text NOT NULL, last bigint NOT NULL, token bigint NOT NULL, \
      PRIMARY KEY (hub, last))
      """
    case createRows = """
      CREATE TABLE IF NOT EXISTS quire_hub_row (hub text NOT NULL, collection text NOT NULL, key bytea NOT NULL, \
      version bigint NOT NULL, seq bigint NOT NULL, origin text NOT NULL, object text, marks bytea NOT NULL, \
      PRIMARY KEY (hub, collection, key))
      """
    case createOrder = """
      CREATE INDEX IF NOT EXISTS quire_hub_row_seq ON quire_hub_row (hub, seq)
      """
    case addHub = """
      INSERT INTO quire_hub (hub, last) VALUES ($1, 0) ON CONFLICT (hub) DO NOTHING
      """
    case member = """
      SELECT lineage, number, token, outcome FROM quire_hub_member WHERE hub = $1 AND origin = $2
      """
    /// Pushes come one after the other: who has this row's lock has its turn.
    case takeTurn = """
      UPDATE quire_hub SET last = last WHERE hub = $1 RETURNING last
      """
    case store = """
      INSERT INTO quire_hub_row AS r (hub, collection, key, version, seq, origin, object, marks) \
      SELECT $1, n.collection, n.key, n.version, n.seq, $2, n.object, n.marks \
      FROM unnest($3::text[], $4::bytea[], $5::bigint[], $6::bigint[], $7::text[], $8::bytea[]) \
      AS n (collection, key, version, seq, object, marks) \
      ON CONFLICT (hub, collection, key) DO UPDATE SET version = excluded.version, seq = excluded.seq, \
      origin = excluded.origin, object = excluded.object, marks = excluded.marks \
      WHERE r.version = excluded.version - 1 RETURNING r.seq
      """
    case endTurn = """
      UPDATE quire_hub SET last = $2 WHERE hub = $1
      """
    case addPush = """
      INSERT INTO quire_hub_push (hub, last, token) VALUES ($1, $2, $3)
      """
    case forgetPushes = """
      DELETE FROM quire_hub_push WHERE hub = $1 AND last < $2
      """
    case noteMember = """
      INSERT INTO quire_hub_member (hub, origin, lineage, number, token, outcome) VALUES ($1, $2, $3, $4, $5, $6) \
      ON CONFLICT (hub, origin) DO UPDATE SET lineage = excluded.lineage, number = excluded.number, \
      token = excluded.token, outcome = excluded.outcome
      """
    /// The last one of the next rows in the order.
    case lastOfNext = """
      SELECT max(seq) FROM (SELECT seq FROM quire_hub_row WHERE hub = $1 AND seq > $2 ORDER BY seq LIMIT $3) AS n
      """
    case pushOf = """
      SELECT last, token FROM quire_hub_push WHERE hub = $1 AND last >= $2 ORDER BY last LIMIT 1
      """
    case changes = """
      SELECT collection, key, version, origin, object, marks FROM quire_hub_row \
      WHERE hub = $1 AND seq > $2 AND seq <= $3 AND collection = ANY($4::text[]) ORDER BY seq
      """
    case place = """
      SELECT 1 FROM quire_hub_push WHERE hub = $1 AND last = $2 AND token = $3
      """
  }
#endif
