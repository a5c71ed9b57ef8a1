// The field of a key path: in a decoded object, and as it is read out of a stored one.

/// A field that is to be read, with what it is in an object.
struct FieldSource<Object> {
  let plan: FieldPlan
  /// What it is called in messages.
  let name: String
  /// Its sort bytes in an object, or those of its elements.
  let sortBytes: (Object) -> Set<[UInt8]>

  /// Nil if values of its type are not read out of rows.
  ///
  /// - Parameter each: whether the elements of a list or set are meant.
  init?(_ path: PartialKeyPath<Object>, each: Bool) {
    let type = type(of: path).valueType
    let form: FieldPlan.Form?
    if each {
      form = (type as? any PlainList.Type).flatMap(Self.listForm)
      sortBytes = { object in (object[keyPath: path] as? any PlainList)?.elementKeys ?? [] }
    } else {
      form = (type as? any SortKey.Type).flatMap { Self.form(type, $0) }
      sortBytes = { object in (object[keyPath: path] as? any SortKey).map { [$0.sortBytes] } ?? [] }
    }
    guard let form else { return nil }
    plan = FieldPlan(path, form, isOptional: wrappedType(type) != nil)
    name = path.debugDescription
  }

  private static func listForm(_ type: any PlainList.Type) -> FieldPlan.Form? {
    ScalarForm(type.elementType).map { .list($0, isSet: type.isSet) }
  }

  private static func form(_ type: Any.Type, _ key: any SortKey.Type) -> FieldPlan.Form? {
    if let scalar = ScalarForm(wrappedType(type) ?? type) { return .scalar(scalar) }
    // Of an optional of an optional, nil in nil is something else than nil.
    if let wrapped = wrappedType(type), wrappedType(wrapped) != nil { return nil }
    guard let coded = key as? any (SortKey & Decodable).Type else { return nil }
    func read<Value: SortKey & Decodable>(_: Value.Type) -> FieldPlan.Form {
      .coded { context, reader, head in try context.decodeField(Value.self, reader, head).sortBytes }
    }
    return read(coded)
  }
}

/// A list or set, whatever it is of.
private protocol PlainList {
  static var elementType: Any.Type { get }
  static var isSet: Bool { get }
  /// The sort bytes of the elements.
  var elementKeys: Set<[UInt8]> { get }
}

extension Array: PlainList {
  static var elementType: Any.Type { Element.self }
  static var isSet: Bool { false }
  var elementKeys: Set<[UInt8]> { Set(compactMap { ($0 as? any SortKey)?.sortBytes }) }
}

extension Set: PlainList {
  static var elementType: Any.Type { Element.self }
  static var isSet: Bool { true }
  var elementKeys: Set<[UInt8]> { Set<[UInt8]>(compactMap { ($0 as? any SortKey)?.sortBytes }) }
}
