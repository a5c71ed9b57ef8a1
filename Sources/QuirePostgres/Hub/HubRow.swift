// A row as the members of a hub exchange it.

#if Postgres
  public import QuireDatabase

  /// A row without its types, as the members of a hub exchange it.
  public struct HubRow: Hashable, Sendable {
    /// The object.
    public var object: StoredHalf
    /// The metadata; nil if the row has none.
    public var metadata: StoredHalf?

    /// Puts the halves together.
    public init(object: StoredHalf, metadata: StoredHalf? = nil) { (self.object, self.metadata) = (object, metadata) }

    init(_ row: ValueRow) { self.init(object: row.object, metadata: row.metadata) }
  }

  extension HubRow {
    /// The row as a line of JSON in which every value is there to the bit. Bytes of coders are left out: what they mean
    /// differs from database to database, while two rows of the same text are the same row.
    var text: String {
      func plain(_ half: StoredHalf) -> StoredHalf {
        StoredHalf(half.content, version: half.version, coder: half.coder)
      }
      return RowLine.row(collection: "", key: "", object: plain(object), metadata: metadata.map(plain)).json
    }

    /// Whether nobody but this database can read it.
    var isEncrypted: Bool { object.isEncrypted || metadata?.isEncrypted == true }

    /// Reads the text of a row, which may be anything.
    ///
    /// - Throws: `HubError` of the kind `damagedHub`.
    init(text: String) throws(HubError) {
      do {
        guard case .row(_, _, let object, let metadata) = try RowLine(Array(text.utf8)) else {
          throw HubError(.damagedHub, "A text of the hub is no row: “\(text.prefix(80))”.")
        }
        self.init(object: object, metadata: metadata)
      } catch let error as HubError {
        throw error
      } catch {
        throw HubError(.damagedHub, "A text of the hub is no row: “\(text.prefix(80))”. See the cause.", cause: error)
      }
    }
  }

  /// Texts of rows as they are compared: byte by byte. Characters that look alike may be written in several ways, and a
  /// row that is written in another one is another row.
  enum HubText {
    /// Whether both are the same, or there is neither.
    static func areSame(_ one: String?, _ other: String?) -> Bool {
      guard let one, let other else { return one == nil && other == nil }
      return one.hasBytes(of: other)
    }
  }

  extension StoredHalf {
    fileprivate var isEncrypted: Bool { if case .encrypted = content { true } else { false } }
  }
#endif
