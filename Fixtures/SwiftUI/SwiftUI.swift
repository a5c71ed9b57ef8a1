// Those declarations of SwiftUI that QuireObservation uses, as far as a compiler needs them: for systems without it,
// where `.ci/swiftui` checks the types of what stands behind `canImport(SwiftUI)`. Nothing of it is ever run.

public protocol DynamicProperty {
  mutating func update()
}

public protocol EnvironmentKey {
  associatedtype Value
  static var defaultValue: Value { get }
}

public struct EnvironmentValues {
  public subscript<Key: EnvironmentKey>(key: Key.Type) -> Key.Value {
    get { Key.defaultValue }
    set {}
  }
}

@propertyWrapper
public struct Environment<Value>: DynamicProperty {
  private let path: KeyPath<EnvironmentValues, Value>
  public init(_ keyPath: KeyPath<EnvironmentValues, Value>) { path = keyPath }
  public var wrappedValue: Value { EnvironmentValues()[keyPath: path] }
  public func update() {}
}

extension Environment: @unchecked Sendable where Value: Sendable {}

@propertyWrapper
public struct State<Value>: DynamicProperty {
  public let wrappedValue: Value
  public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
  public func update() {}
}

extension State: Sendable where Value: Sendable {}

@propertyWrapper
public struct Binding<Value> {
  private let get: @isolated(any) @Sendable () -> Value
  private let set: @isolated(any) @Sendable (Value) -> Void
  @preconcurrency public init(
    get: @escaping @isolated(any) @Sendable () -> Value, set: @escaping @isolated(any) @Sendable (Value) -> Void
  ) {
    (self.get, self.set) = (get, set)
  }
  public var wrappedValue: Value {
    get { preconditionFailure("a stand-in is never run") }
    nonmutating set { preconditionFailure("a stand-in is never run") }
  }
}

// MARK: Views, for the guide's screens

@MainActor @preconcurrency
public protocol View {
  associatedtype Body: View
  var body: Body { get }
}

extension Never: View {
  public var body: Never { preconditionFailure("a stand-in is never run") }
}

extension View {
  public func environment<Value>(_ path: WritableKeyPath<EnvironmentValues, Value>, _ value: Value) -> some View {
    self
  }
}

public struct Text: View {
  public init(_ content: some StringProtocol) {}
  public var body: Never { preconditionFailure("a stand-in is never run") }
}

public struct List: View {
  public init<Data: RandomAccessCollection, ID: Hashable>(
    _ data: Data, id: KeyPath<Data.Element, ID>, rowContent: @escaping (Data.Element) -> some View
  ) {}
  public var body: Never { preconditionFailure("a stand-in is never run") }
}

public struct TextField: View {
  public init(_ title: String, text: Binding<String>) {}
  public var body: Never { preconditionFailure("a stand-in is never run") }
}
