// Types that are known when a program runs, and not when it is compiled.

/// A type, and what is done to its values where they are in memory.
///
/// Who hands over memory knows that it is, or is to be, of the type.
@safe struct ValueType: Sendable {
  let type: any Sendable.Type
  /// From one value to the next one in memory; at least 1.
  let stride: Int
  let byteCount: Int
  let alignment: Int

  init(_ type: any Sendable.Type) {
    func measured<Value>(_: Value.Type) -> (stride: Int, byteCount: Int, alignment: Int) {
      (MemoryLayout<Value>.stride, MemoryLayout<Value>.size, MemoryLayout<Value>.alignment)
    }
    self.type = type
    (stride, byteCount, alignment) = _openExistential(type, do: measured)
    assert(stride > 0 && alignment > 0 && alignment & (alignment - 1) == 0, "a type is measured wrongly")
  }

  /// Copies the value at `source` to `place`, where there is none.
  func copy(_ source: UnsafeRawPointer, to place: UnsafeMutableRawPointer) {
    func copy<Value>(_ type: Value.Type) {
      unsafe place.initializeMemory(as: type, from: source.assumingMemoryBound(to: type), count: 1)
    }
    _openExistential(type, do: copy)
  }

  /// Copies a value that comes without its type to `place`, if it is of this one, and returns whether it is.
  func unbox(_ value: Any, to place: UnsafeMutableRawPointer) -> Bool {
    func unbox<Value>(_ type: Value.Type) -> Bool {
      guard let value = value as? Value else { return false }
      unsafe place.initializeMemory(as: type, to: value)
      return true
    }
    return _openExistential(type, do: unbox)
  }

  /// Moves the value at `source`, where there is none afterwards, to `place`, where there is none before.
  func move(_ source: UnsafeMutableRawPointer, to place: UnsafeMutableRawPointer) {
    func move<Value>(_ type: Value.Type) {
      unsafe place.moveInitializeMemory(as: type, from: source.assumingMemoryBound(to: type), count: 1)
    }
    _openExistential(type, do: move)
  }

  /// Ends the life of the value at `place`.
  func destroy(_ place: UnsafeMutableRawPointer) {
    func destroy<Value>(_ type: Value.Type) {
      unsafe place.assumingMemoryBound(to: type).deinitialize(count: 1)
    }
    _openExistential(type, do: destroy)
  }

  /// A copy of the value at `place`, for who asks what it is.
  func boxed(_ place: UnsafeRawPointer) -> Any {
    func boxed<Value>(_ type: Value.Type) -> Any {
      unsafe place.assumingMemoryBound(to: type).pointee
    }
    return _openExistential(type, do: boxed)
  }
}
