// Which types are decoded directly, and what makes sure that they are decoded right.

/// Which fields of a row its type has asked for, and which it has asked for in vain.
final class AskedNames {
  @exclusivity(unchecked) var asked = AskedFields()
  var missing: Set<String> = []

  /// Whether a field was asked for that has this name, or this number.
  func contains(_ name: String, _ number: UInt32?) -> Bool {
    if let number, number < DirectDecoder.numberLimit, unsafe asked.contains(number) { return true }
    return missing.contains(name)
  }
}

/// What one context knows of the direct decoding of one type.
///
/// The first rows are decoded both ways: each property must have been asked for by its name by `init(from:)`, and the
/// values must be the same. Then so is one of many rows. A type that differs at first is left to its `init(from:)`, as
/// is one of which that is not clear; one that differs later has not kept its promise, and has been read wrongly
/// perhaps, which is an error.
///
/// One thread at a time. Invariant: rows are decoded directly only after `firstCount` of them have been decoded both
/// ways without a difference.
@safe final class DirectDecoding {
  /// So many rows are decoded both ways at first, and then one of these.
  static let firstCount = 8
  static let interval = 1009
  /// After so many rows that were not plain it is not tried again.
  static let mostFailures = 64

  /// Nil before a value has told the layout; never another one after that.
  private var ownDecoder: DirectDecoder?
  /// The same, without the count that taking it would cost each row.
  @exclusivity(unchecked) private var decoder: Unmanaged<DirectDecoder>?
  @exclusivity(unchecked) private(set) var isRefused = false
  @exclusivity(unchecked) private var generation = 0
  @exclusivity(unchecked) private var rowsUntilCheck = 0
  @exclusivity(unchecked) private var checkCount = 0
  @exclusivity(unchecked) private var failureCount = 0

  /// Makes the value of a row at `place`; returns false, with none made, if the row is to be decoded as others are.
  @inline(__always) func decode(
    _ bytes: UnsafeRawBufferPointer, _ context: RowCodingContext, _ names: FieldNames,
    into place: UnsafeMutableRawPointer
  ) -> Bool {
    guard unsafe rowsUntilCheck > 0, let decoder = unsafe decoder else { return false }
    assert(unsafe !isRefused && checkCount >= Self.firstCount, "a type is decoded directly that is not known yet")
    let isMade = unsafe decoder._withUnsafeGuaranteedRef { decoder in
      if unsafe generation != names.generation { refresh(decoder, names) }
      return unsafe decoder.decode(bytes, context, into: place)
    }
    if isMade {
      unsafe rowsUntilCheck &-= 1
      return true
    }
    fail()
    return false
  }

  /// Whether a row that is decoded by `init(from:)` is to be decoded directly as well.
  var isDue: Bool { unsafe !isRefused && rowsUntilCheck <= 0 }

  private func refresh(_ decoder: DirectDecoder, _ names: FieldNames) {
    unsafe generation = names.generation
    decoder.refresh(names.number)
  }

  private func refuse() { unsafe (isRefused, rowsUntilCheck) = (true, 0) }

  @inline(never) private func fail() {
    unsafe failureCount += 1
    if unsafe failureCount > Self.mostFailures { refuse() }
  }

  // MARK: Checking

  /// Decodes a row directly as well, of which `value` was made by `init(from:)`, which has asked for these fields.
  ///
  /// - Throws: if rows have been decoded directly that may have been wrong.
  func check<Value>(
    _ value: Value, _ asked: AskedNames, _ bytes: UnsafeRawBufferPointer, _ context: RowCodingContext,
    _ names: FieldNames
  ) throws {
    guard let decoder = ownDecoder ?? StructLayout(of: value).flatMap({ DirectDecoder($0) }) else { return refuse() }
    ownDecoder = decoder
    unsafe self.decoder = .passUnretained(decoder)
    refresh(decoder, names)
    let difference = unsafe Self.difference(value, asked, bytes, context, decoder, names)
    switch difference {
    case .none:
      unsafe checkCount += 1
      unsafe rowsUntilCheck = checkCount < Self.firstCount ? 0 : Self.interval
    case .notPlain: fail()
    case .unclear: refuse()
    case .property(let name):
      let wasTrusted = unsafe checkCount >= Self.firstCount
      refuse()
      if wasTrusted { throw Self.broken(Value.self, name) }
    }
  }

  private enum Difference {
    case none, notPlain, unclear
    case property(String)
  }

  private static func difference<Value>(
    _ value: Value, _ asked: AskedNames, _ bytes: UnsafeRawBufferPointer, _ context: RowCodingContext,
    _ decoder: DirectDecoder, _ names: FieldNames
  ) -> Difference {
    if let unread = decoder.fields.first(where: { !asked.contains($0.name, names.number(of: $0.name)) }) {
      return .property(unread.name)
    }
    return unsafe withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { room in
      guard let own = room.baseAddress, unsafe decoder.decode(bytes, context, into: UnsafeMutableRawPointer(own)) else {
        return .notPlain
      }
      defer { unsafe own.deinitialize(count: 1) }
      return unsafe withUnsafePointer(to: value) { value in
        var isUnclear = false
        for field in decoder.fields {
          switch unsafe field.compare(UnsafeRawPointer(own) + field.offset, UnsafeRawPointer(value) + field.offset) {
          case .same: continue
          case .different: return .property(field.name)
          case .unclear: isUnclear = true
          }
        }
        return isUnclear ? .unclear : .none
      }
    }
  }

  private static func broken(_ type: Any.Type, _ name: String) -> DecodingError {
    let message = """
      \(type) is marked as SynthesizedCodable, and its property “\(name)” is not what is stored under that name, so \
      that rows before this one may have been read wrongly. Take the mark away, or have the compiler write `Codable` \
      and call the coding keys as the properties.
      """
    return .dataCorrupted(.init(codingPath: [], debugDescription: message))
  }
}
