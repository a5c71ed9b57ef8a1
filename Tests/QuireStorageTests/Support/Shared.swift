// Values without copies, for closures.

/// What several closures share that cannot be copied.
final class Shared<Value: ~Copyable & Sendable>: Sendable {
  let value: Value
  init(_ value: consuming Value) { self.value = value }
}
