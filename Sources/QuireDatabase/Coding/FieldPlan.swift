// How one field is read out of stored rows: where it stands, and what its sort bytes are made of.

/// The way from the fields of the object to the field of a key path, by names.
struct FieldStep {
  let name: String
  /// Whether the property is an optional, which is nil where the field is missing.
  let isOptional: Bool
  /// The number of the name in the schema; nil if no row has it by number. Then rows do not tell the field: it may be
  /// nil in all of them, or stored under another name.
  var number: UInt32?
}

/// What is known of a field that is to be read.
final class FieldPlan {
  /// How its sort bytes come from what is stored.
  enum Form {
    case scalar(ScalarForm)
    /// The elements of a list, each for itself; of a set, equal elements count once.
    case list(ScalarForm, isSet: Bool)
    /// By decoding the one value.
    case coded((RowCodingContext, ValueReader, ValueHead) throws -> [UInt8])
  }

  enum State {
    /// No object has been seen that tells where the field stands.
    case undecided
    case found
    /// It is not read out of rows.
    case refused
  }

  let path: AnyKeyPath
  let form: Form
  /// Whether the key path's value is an optional.
  let isOptional: Bool
  @exclusivity(unchecked) private(set) var state = State.undecided
  @exclusivity(unchecked) private(set) var steps: [FieldStep] = []
  /// How many objects are asked where the field stands, before it is taken for one that none tells.
  private static let attemptLimit = 8
  private var attemptsLeft = FieldPlan.attemptLimit

  init(_ path: AnyKeyPath, _ form: Form, isOptional: Bool) {
    self.path = path
    self.form = form
    self.isOptional = isOptional
  }

  /// Finds out where the field stands, from an object that was decoded whole.
  func resolve(_ object: Any, of root: Any.Type, _ number: (String) -> UInt32?) {
    guard unsafe state == .undecided else { return }
    attemptsLeft -= 1
    switch FieldSearch(path, root).steps(in: object) {
    case .found(let found):
      unsafe steps = found
      unsafe state = .found
      findNumbers(number)
    case .undecided: if attemptsLeft == 0 { unsafe state = .refused }
    case .refused: unsafe state = .refused
    }
  }

  /// Looks up the numbers of the names, which a schema that has grown may have now.
  func findNumbers(_ number: (String) -> UInt32?) {
    for index in unsafe steps.indices { unsafe steps[index].number = number(steps[index].name) }
  }
}

extension FieldPlan {
  /// The field, if it is one value of a scalar type, among the fields of the object itself.
  var plain: PlainField? {
    guard unsafe state == .found, unsafe steps.count == 1, case .scalar(let form) = form,
      let number = unsafe steps[0].number
    else { return nil }
    return PlainField(number: number, form: form, isOptional: isOptional)
  }
}

/// What most fields are, without anything that is counted: a value of a scalar type in the object itself.
struct PlainField {
  /// The number of its name.
  let number: UInt32
  let form: ScalarForm
  let isOptional: Bool
}

/// An optional, whatever it is of.
protocol AnyOptional {
  static var wrappedType: Any.Type { get }
  /// What it holds.
  var held: Any? { get }
}

extension Optional: AnyOptional {
  static var wrappedType: Any.Type { Wrapped.self }
  var held: Any? { map { $0 } }
}

/// What a type holds if it is an optional.
func wrappedType(_ type: Any.Type) -> Any.Type? { (type as? any AnyOptional.Type)?.wrappedType }

/// Looks for the stored properties that a key path goes through.
///
/// A key path tells the names that it finds at the places of its properties. Names alone may mislead: a property
/// without any bytes is at the same place as the next one. So each must be that of a property with the type that the
/// path goes on with, and the last one that of a value with bytes.
private struct FieldSearch {
  enum Result {
    case found([FieldStep])
    /// A nil on the way hides the rest.
    case undecided
    case refused
  }

  private let valueType: Any.Type
  private let root: Any.Type
  /// The names, each with whether the path goes on through an optional there; nil if they are not all told.
  private let names: [(name: String, isChained: Bool)]?

  init(_ path: AnyKeyPath, _ root: Any.Type) {
    valueType = type(of: path).valueType
    self.root = root
    names = Self.names(path.debugDescription, root)
  }

  private static func names(_ description: String, _ root: Any.Type) -> [(name: String, isChained: Bool)]? {
    let start = "\\\(root)."
    guard description.hasPrefix(start) else { return nil }
    var names: [(name: String, isChained: Bool)] = []
    let parts = description.dropFirst(start.count).split(separator: ".", omittingEmptySubsequences: false)
    for (index, part) in parts.enumerated() {
      let isChained = part.last == "?"
      let name = isChained ? part.dropLast() : part
      // Anything else is computed, an index, or forced.
      guard let first = name.first, first.isLetter || first == "_" else { return nil }
      guard name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" }) else { return nil }
      // What stands behind the last name makes an optional of the value.
      names.append((String(name), isChained && index < parts.count - 1))
    }
    return names
  }

  func steps(in object: Any) -> Result {
    guard let names else { return .refused }
    var steps: [FieldStep] = []
    var (current, currentType) = (object, root)
    for (index, (name, isChained)) in names.enumerated() {
      guard currentType is any SynthesizedCodable.Type else { return .refused }
      let mirror = Mirror(reflecting: current)
      guard mirror.displayStyle == .struct, let child = mirror.children.first(where: { $0.label == name }) else {
        return .refused
      }
      let childType = type(of: child.value)
      let wrapped = wrappedType(childType)
      steps.append(FieldStep(name: name, isOptional: wrapped != nil, number: nil))
      if index == names.count - 1 { return isLast(childType, steps) ? .found(steps) : .refused }
      guard isChained == (wrapped != nil) else { return .refused }
      guard isChained else {
        (current, currentType) = (child.value, childType)
        continue
      }
      guard let held = (child.value as? any AnyOptional)?.held else { return .undecided }
      (current, currentType) = (held, wrapped ?? childType)
    }
    return .refused
  }

  /// Whether a property of this type is where the path ends.
  private func isLast(_ type: Any.Type, _ steps: [FieldStep]) -> Bool {
    guard byteCount(type) > 0 else { return false }
    if type == valueType { return true }
    // Through an optional, the value becomes one.
    return steps.dropLast().contains(where: \.isOptional) && wrappedType(valueType) == type
  }

  private func byteCount(_ type: Any.Type) -> Int {
    func size<Value>(_: Value.Type) -> Int { MemoryLayout<Value>.size }
    return _openExistential(type, do: size)
  }
}
