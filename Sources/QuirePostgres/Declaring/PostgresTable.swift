// What an app says of the table of a collection.

#if Postgres
  public import QuireDatabase

  /// The table of a collection, with columns of its own beside those that every table has.
  ///
  /// ```swift
  /// PostgresTable(.songs) {
  ///   $0.column("title", \.title)
  ///   $0.column("year", \.year)
  ///   $0.index("year", "title")
  /// }
  /// ```
  ///
  /// Every table has `key text COLLATE "C"`, which is the primary key, `row_id bigint`, `csn bigint`, `object jsonb`,
  /// `metadata jsonb`, and, if the mirror keeps bytes, `raw bytea` and `raw_metadata bytea`. A collection needs no
  /// declaration; one that has columns is read with its types.
  public struct PostgresTable: Sendable {
    let collection: String
    let columns: [PostgresColumn]
    let indexes: [[String]]
    /// The values of the columns of the rows that a batch tells of, in their order.
    let readChanges: @Sendable (FeedBatch) throws -> [PostgresRowReader]
    let readRows: @Sendable (BootstrapBatch) throws -> [PostgresRowReader]
    /// The values of the columns of a row with this object and these metadata; nil if these are of other types.
    let rowValues: @Sendable (any Sendable, (any Sendable)?) -> [String?]?
    /// The fields that have columns.
    let fields: [PostgresField]

    /// Declares the table of a collection.
    ///
    /// - Parameters:
    ///   - collection: whose rows it has.
    ///   - declare: says which columns and indexes it has.
    public init<Object, Metadata>(
      _ collection: RowCollection<Object, Metadata>, _ declare: (inout PostgresColumns<Object, Metadata>) -> Void
    ) {
      var declared = PostgresColumns<Object, Metadata>()
      declare(&declared)
      let values = declared.values
      self.collection = collection.name
      columns = declared.columns
      indexes = declared.indexes
      let reader = { @Sendable (change: RowFeedChange<Object, Metadata>) in
        PostgresRowReader(collectionName: change.collectionName, isRow: change.leavesRow) {
          guard let row = try change.new else { return nil }
          return values.map { $0(row) }
        }
      }
      readChanges = { batch in try batch.changes(in: collection).map(reader) }
      readRows = { batch in try batch.rows(in: collection).map(reader) }
      fields = declared.fields
      rowValues = { object, metadata in
        guard let object = object as? Object else { return nil }
        let row = Row(key: "", rowID: RowID(1), object: object, metadata: metadata as? Metadata)
        return values.map { $0(row) }
      }
    }
  }

  /// The columns of a table, as they are declared.
  public struct PostgresColumns<Object: Sendable, Metadata: Sendable> {
    private(set) var columns: [PostgresColumn] = []
    private(set) var indexes: [[String]] = []
    private(set) var values: [@Sendable (Row<Object, Metadata>) -> String?] = []
    private(set) var fields: [PostgresField] = []

    init() {}

    /// Adds a column with a field of the object. A column that is added later is filled by the next run of the mirror.
    ///
    /// - Parameters:
    ///   - name: the name of the column; none of those that every table has.
    ///   - path: the field.
    public mutating func column<Value: PostgresValue>(
      _ name: String, _ path: any KeyPath<Object, Value> & Sendable
    ) {
      columns.append(PostgresColumn(name: name, type: Value.postgresType))
      values.append { row in row.object[keyPath: path].postgresText }
      fields.append(PostgresField(path: path, column: name, type: Value.postgresType))
    }

    /// Adds a column with a field of the metadata, null where a row has none. See ``column(_:_:)``.
    ///
    /// - Parameters:
    ///   - name: the name of the column.
    ///   - path: the field of the metadata.
    public mutating func column<Value: PostgresValue>(
      _ name: String, metadata path: any KeyPath<Metadata, Value> & Sendable
    ) {
      columns.append(PostgresColumn(name: name, type: Value.postgresType))
      values.append { row in row.metadata.flatMap { $0[keyPath: path].postgresText } }
      fields.append(PostgresField(path: path, column: name, type: Value.postgresType))
    }

    /// Adds an index over columns, which need not be declared ones. It is made with the table, or by the next run.
    public mutating func index(_ names: String...) { indexes.append(names) }
  }

  extension RowFeedChange {
    /// Whether it is about a row that there is.
    fileprivate var leavesRow: Bool {
      switch kind {
      case .inserted, .changed: true
      case .removed, .cleared, .clearedAll, .renamed: false
      }
    }
  }

  /// A column.
  struct PostgresColumn: Hashable, Sendable {
    let name: String
    /// As SQL has it.
    let type: String
  }

  /// A field that has a column.
  struct PostgresField: Sendable {
    let path: any AnyKeyPath & Sendable
    let column: String
    let type: String
  }

  /// The values of declared columns of one row, read when they are asked for.
  struct PostgresRowReader: Sendable {
    let collectionName: String
    /// Whether the change has left a row.
    let isRow: Bool
    /// The values; nil if the change has left no row.
    let values: @Sendable () throws -> [String?]?
  }
#endif
