// Conditions on columns, written as those of a database's queries are.

#if Postgres
  /// A condition on the columns of a table.
  public struct PostgresCondition: Sendable {
    /// SQL with `?` in the place of each value, none of which stands in it.
    private let parts: [Part]

    private enum Part: Sendable {
      case sql(String)
      case value(String, type: String)
      /// Nothing that can be asked: why.
      case error(PostgresError)
    }

    private init(_ parts: [Part]) { self.parts = parts }

    /// Every row.
    public static var all: Self { Self([.sql("true")]) }

    fileprivate static func compare(_ column: PostgresFieldName, _ comparison: String, _ value: String?) -> Self {
      switch column {
      case .undeclared(let error): Self([.error(error)])
      case .column(_, let type):
        if type == "double precision" || type == "real" {
          compareNumbers(column.ordered, comparison, value, type)
        } else if let value {
          Self([.sql("(\(column.ordered) \(comparison) "), .value(value, type: type), .sql(")")])
        } else {
          // What is compared with nothing is nothing, in a database's queries too.
          Self([.sql("false")])
        }
      }
    }

    /// NaN is neither less nor greater than a number, nor equal to itself; PostgreSQL has it behind all numbers.
    private static func compareNumbers(
      _ column: String, _ comparison: String, _ value: String?, _ type: String
    ) -> Self {
      guard let value, value != "NaN" else { return Self([.sql("false")]) }
      let plain = Self([.sql("(\(column) \(comparison) "), .value(value, type: type), .sql(")")])
      guard comparison.hasPrefix(">") else { return plain }
      return plain && Self([.sql("(\(column) < "), .value("NaN", type: type), .sql(")")])
    }

    fileprivate static func isNull(_ column: PostgresFieldName, _ isNull: Bool) -> Self {
      switch column {
      case .undeclared(let error): Self([.error(error)])
      case .column(let name, _): Self([.sql("(\(name) IS \(isNull ? "" : "NOT ")NULL)")])
      }
    }

    fileprivate static func isIn(_ column: PostgresFieldName, _ values: [String?]) -> Self {
      let tests = values.map { $0 == nil ? isNull(column, true) : compare(column, "=", $0) }
      return tests.reduce(Self([.sql("false")])) { $0 || $1 }
    }

    /// Both.
    public static func && (left: Self, right: Self) -> Self { joined(left, "AND", right) }
    /// One of them, or both.
    public static func || (left: Self, right: Self) -> Self { joined(left, "OR", right) }
    /// Rows that it does not find.
    public static prefix func ! (condition: Self) -> Self {
      // Comparisons with null are neither true nor false in SQL; here they are false, and then this is true.
      Self([.sql("(NOT coalesce(")] + condition.parts + [.sql(", false))")])
    }

    private static func joined(_ left: Self, _ word: String, _ right: Self) -> Self {
      Self([.sql("(")] + left.parts + [.sql(" \(word) ")] + right.parts + [.sql(")")])
    }

    /// The condition as SQL, and its values.
    ///
    /// - Throws: `invalidDeclaration` if it names a field that has no column.
    func statement() throws(PostgresError) -> (sql: String, parameters: [Parameter]) {
      var (sql, parameters) = ("", [Parameter]())
      for part in parts {
        switch part {
        case .sql(let text): sql += text
        case .error(let error): throw error
        case .value(let text, let type):
          parameters.append(.text(text))
          sql += "$\(parameters.count)::\(type)"
        }
      }
      return (sql, parameters)
    }
  }

  /// The column of a field.
  enum PostgresFieldName: Sendable {
    case column(String, type: String)
    case undeclared(PostgresError)

    /// The column as what is compared and sorted; empty without one.
    var ordered: String {
      switch self {
      case .column(let name, let type): type == "text" ? "\(name) \(Statement.byteOrder)" : name
      case .undeclared: ""
      }
    }
  }

  /// The fields of a row, in a condition: those that ``PostgresTable`` declares columns for.
  @dynamicMemberLookup
  public struct PostgresFields<Object: Sendable, Metadata: Sendable> {
    private let table: PostgresTable?

    init(_ table: PostgresTable?) { self.table = table }

    /// The key.
    public var key: PostgresColumnTerm<String> { PostgresColumnTerm(.column("key", type: "text")) }

    /// A field of the object.
    public subscript<Value: PostgresValue>(
      dynamicMember path: any KeyPath<Object, Value> & Sendable
    ) -> PostgresColumnTerm<Value> { PostgresColumnTerm(columnName(path, "\(path)")) }

    /// A field of the metadata.
    public func metadata<Value: PostgresValue>(
      _ path: any KeyPath<Metadata, Value> & Sendable
    ) -> PostgresColumnTerm<Value> { PostgresColumnTerm(columnName(path, "\(path)")) }

    func columnName(_ path: AnyKeyPath, _ text: String) -> PostgresFieldName {
      if let field = table?.fields.first(where: { $0.path as AnyKeyPath == path }) {
        return .column(Statement.quoted(field.column), type: field.type)
      }
      return .undeclared(
        PostgresError(
          .invalidDeclaration, "The field \(text) has no column. Declare one for it with PostgresTable."))
    }
  }

  /// A field in a condition.
  public struct PostgresColumnTerm<Value: PostgresValue>: Sendable {
    let name: PostgresFieldName

    init(_ name: PostgresFieldName) { self.name = name }

    /// Equal; for nil, whether the field has no value.
    public static func == (left: Self, value: Value) -> PostgresCondition {
      value.postgresText.map { .compare(left.name, "=", $0) } ?? .isNull(left.name, true)
    }

    /// Different, or no value at all; for nil, whether the field has a value.
    public static func != (left: Self, value: Value) -> PostgresCondition {
      value.postgresText.map { !.compare(left.name, "=", $0) } ?? .isNull(left.name, false)
    }

    /// Less.
    public static func < (left: Self, value: Value) -> PostgresCondition {
      .compare(left.name, "<", value.postgresText)
    }

    /// Less or equal.
    public static func <= (left: Self, value: Value) -> PostgresCondition {
      .compare(left.name, "<=", value.postgresText)
    }

    /// Greater.
    public static func > (left: Self, value: Value) -> PostgresCondition {
      .compare(left.name, ">", value.postgresText)
    }

    /// Greater or equal.
    public static func >= (left: Self, value: Value) -> PostgresCondition {
      .compare(left.name, ">=", value.postgresText)
    }

    /// One of these.
    public func isIn(_ values: some Sequence<Value>) -> PostgresCondition { .isIn(name, values.map(\.postgresText)) }
  }

  /// In which order rows come.
  public struct PostgresOrder<Object: Sendable>: Sendable {
    let path: any AnyKeyPath & Sendable
    let isDescending: Bool

    /// The least first.
    public static func ascending<Value: PostgresValue>(_ path: any KeyPath<Object, Value> & Sendable) -> Self {
      Self(path: path, isDescending: false)
    }

    /// The greatest first.
    public static func descending<Value: PostgresValue>(_ path: any KeyPath<Object, Value> & Sendable) -> Self {
      Self(path: path, isDescending: true)
    }
  }
#endif
