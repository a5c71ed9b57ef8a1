// Values that an extension keeps beside its rows: persistent ones in the file, others as long as it is open.

public import Foundation
internal import Quire

extension YapDatabaseExtensionTransaction {
  private func value<Value: ExtensionValue>(_ key: String, _ isPersistent: Bool) -> Value? {
    attempt(nil) {
      let store =
        switch transaction.access {
        case .reading(let tx): try tx.access(to: ExtensionValues())
        case .writing(let tx): try tx.access(to: ExtensionValues()).store
        }
      return try store.value(ExtensionValues.key(name, key), persistent: isPersistent)
    }
  }

  private func set<Value: ExtensionValue>(_ value: Value?, _ key: String, _ isPersistent: Bool) {
    attempt(()) {
      let store = try writing().access(to: ExtensionValues()).store
      try store.set(value, for: ExtensionValues.key(name, key), persistent: isPersistent)
    }
  }

  // MARK: Asking

  /// The value that was set under `key`; false if there is none. New call: `ExtensionStore.value(_:as:persistent:)`.
  public func boolValue(forExtensionKey key: String, persistent: Bool) -> Bool { value(key, persistent) ?? false }

  /// Sets `value` to the one under `key`. Returns whether there is one. New call:
  /// `ExtensionStore.value(_:as:persistent:)`.
  public func getBoolValue(_ value: inout Bool, forExtensionKey key: String, persistent: Bool) -> Bool {
    let found: Bool? = self.value(key, persistent)
    value = found ?? false
    return found != nil
  }

  /// The value that was set under `key`; 0 if there is none. New call: `ExtensionStore.value(_:as:persistent:)`.
  public func intValue(forExtensionKey key: String, persistent: Bool) -> Int { value(key, persistent) ?? 0 }

  /// Sets `value` to the one under `key`. Returns whether there is one. New call:
  /// `ExtensionStore.value(_:as:persistent:)`.
  public func getIntValue(_ value: inout Int, forExtensionKey key: String, persistent: Bool) -> Bool {
    let found: Int? = self.value(key, persistent)
    value = found ?? 0
    return found != nil
  }

  /// The value that was set under `key`; 0 if there is none. New call: `ExtensionStore.value(_:as:persistent:)`.
  public func doubleValue(forExtensionKey key: String, persistent: Bool) -> Double { value(key, persistent) ?? 0 }

  /// Sets `value` to the one under `key`. Returns whether there is one. New call:
  /// `ExtensionStore.value(_:as:persistent:)`.
  public func getDoubleValue(_ value: inout Double, forExtensionKey key: String, persistent: Bool) -> Bool {
    let found: Double? = self.value(key, persistent)
    value = found ?? 0
    return found != nil
  }

  /// The value that was set under `key`; nil if there is none. New call: `ExtensionStore.value(_:as:persistent:)`.
  public func stringValue(forExtensionKey key: String, persistent: Bool) -> String? { value(key, persistent) }

  /// The value that was set under `key`; nil if there is none. New call: `ExtensionStore.value(_:as:persistent:)`.
  public func dataValue(forExtensionKey key: String, persistent: Bool) -> Data? {
    let bytes: [UInt8]? = value(key, persistent)
    return bytes.map { Data($0) }
  }

  // MARK: Setting

  /// Sets the value under `key`, as a part of the transaction. New call: `ExtensionStore.set(_:for:persistent:)`.
  ///
  /// - Parameters:
  ///   - value: what is kept.
  ///   - key: what it is asked for by.
  ///   - persistent: whether it is stored; if not, it is kept until the database is closed.
  public func setBoolValue(_ value: Bool, forExtensionKey key: String, persistent: Bool) {
    set(value, key, persistent)
  }

  /// Sets the value under `key`. New call: `ExtensionStore.set(_:for:persistent:)`.
  public func setIntValue(_ value: Int, forExtensionKey key: String, persistent: Bool) { set(value, key, persistent) }

  /// Sets the value under `key`. New call: `ExtensionStore.set(_:for:persistent:)`.
  public func setDoubleValue(_ value: Double, forExtensionKey key: String, persistent: Bool) {
    set(value, key, persistent)
  }

  /// Sets the value under `key`; nil removes it. New call: `ExtensionStore.set(_:for:persistent:)`.
  public func setStringValue(_ value: String?, forExtensionKey key: String, persistent: Bool) {
    set(value, key, persistent)
  }

  /// Sets the value under `key`; nil removes it. New call: `ExtensionStore.set(_:for:persistent:)`.
  public func setDataValue(_ value: Data?, forExtensionKey key: String, persistent: Bool) {
    set(value.map { Array($0) }, key, persistent)
  }

  /// Removes the value under `key`. New call: `ExtensionStore.set(_:for:persistent:)` with nil.
  public func removeValue(forExtensionKey key: String, persistent: Bool) { set(nil as Bool?, key, persistent) }
}
