// Reads the Unicode data: sections of numbers, in the order in which Fixtures/make-unicode writes them.
//
// Each section is a varint, its length, and then:
//
//     kinds      varint, their number; each as a varint: the bits of a ScalarKind
//     runs       varint, their number; of each, varints: the gap in front of it, its length, its value
//     map        varint, the number of its groups; of each group, varints: the gap from the last scalar of the group
//                before to its first, and head = members << 4 | form:
//                  2  members and what they become are next to each other
//                  3  every second scalar is a member, and becomes every second one
//                  4  every second scalar is a member; what they become is next to each other
//                  8 + n  one member becomes n scalars; n = 7: a varint says how many
//                then, as a zigzag varint, the distance of what the first member becomes from it; one for each in the
//                last form
//
// Sections: kinds; runs of all scalars with numbers of kinds; maps: canonical pairs, canonical decompositions that are
// never composed, forms of width, case foldings, strokes; runs: accents, ignorable scalars, combining classes; maps:
// the foldings of unicode61 without removal of diacritics, with simple and with complete removal.

/// The numbers of the Unicode data, one after the other. The data is part of the program, so that what does not fit is
/// a fault of the program.
struct UnicodeReader {
  private var bytes: [UInt8] = []
  private var offset = 0

  /// Decodes the base64 of all parts.
  init() {
    bytes.reserveCapacity(UnicodeData.byteCount + 3)
    var (word, bitCount): (UInt32, UInt32) = (0, 0)
    for part in UnicodeData.parts {
      part.withUTF8Buffer { text in
        for index in text.indices {
          guard let value = unsafe Self.value(of: text[index]) else { continue }
          word = word << 6 | value
          bitCount += 6
          if bitCount >= 8 {
            bitCount -= 8
            bytes.append(UInt8(truncatingIfNeeded: word >> bitCount))
          }
        }
      }
    }
    precondition(bytes.count == UnicodeData.byteCount, "the Unicode data is not whole")
  }

  /// What a character of base64 stands for; nil for what ends lines and the text.
  private static func value(of byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte) - 65
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte) - 71
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte) + 4
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }

  /// Whether everything has been read.
  var isAtEnd: Bool { offset == bytes.count }

  private mutating func number() -> UInt32 {
    var (number, shift): (UInt32, UInt32) = (0, 0)
    while true {
      let byte = bytes[offset]
      offset += 1
      number |= UInt32(byte & 0x7f) << shift
      if byte < 0x80 { return number }
      shift += 7
    }
  }

  private mutating func distance() -> Int {
    let number = number()
    return number & 1 == 0 ? Int(number >> 1) : -Int(number >> 1) - 1
  }

  /// Reads the section of kinds.
  mutating func kinds() -> [ScalarKind] {
    _ = number()
    return (0..<number()).map { _ in ScalarKind(bits: number()) }
  }

  /// Reads a section of runs, in ascending order.
  mutating func runs() -> [ScalarRun] {
    _ = number()
    var end: UInt32 = 0
    return (0..<number()).map { _ in
      let first = end + number()
      end = first + number()
      return ScalarRun(scalars: first..<end, value: number())
    }
  }

  /// Reads a section that is a map.
  mutating func map() -> ScalarMap {
    _ = number()
    var (map, last) = (ScalarMap(), 0)
    for _ in 0..<number() {
      last += Int(number())
      let head = number()
      let (members, form) = (Int(head >> 4), Int(head & 15))
      if form >= 8 {
        let count = form == 15 ? Int(number()) : form - 8
        map.append(UInt32(last), (0..<count).map { _ in UInt32(last + distance()) })
        continue
      }
      let (step, other) = form == 2 ? (1, 1) : form == 3 ? (2, 2) : (2, 1)
      let target = last + distance()
      for index in 0..<members {
        map.append(UInt32(last + index * step), [UInt32(target + index * other)])
      }
      last += (members - 1) * step
    }
    return map
  }
}

/// Scalars next to each other of which the same is known.
struct ScalarRun {
  let scalars: Range<UInt32>
  let value: UInt32
}

/// What scalars become, each some other scalars or none.
///
/// Invariants: the scalars ascend strictly; `ends` has one entry for each.
struct ScalarMap {
  private(set) var scalars: [UInt32] = []
  private var ends: [Int] = []
  private var targets: [UInt32] = []

  var count: Int { scalars.count }

  /// Adds a scalar above all others.
  mutating func append(_ scalar: UInt32, _ becomes: [UInt32]) {
    assert(scalars.last.map { $0 < scalar } ?? true, "scalars are out of order")
    scalars.append(scalar)
    targets += becomes
    ends.append(targets.count)
  }

  /// What a scalar becomes; nil if the map does not have it. O(log count).
  func callAsFunction(_ scalar: UInt32) -> ArraySlice<UInt32>? {
    var (low, high) = (0, scalars.count)
    while low < high {
      let middle = (low + high) / 2
      if scalars[middle] < scalar { low = middle + 1 } else { high = middle }
    }
    return low < scalars.count && scalars[low] == scalar ? self[low] : nil
  }

  /// What the scalar of a number becomes.
  subscript(index: Int) -> ArraySlice<UInt32> { targets[(index == 0 ? 0 : ends[index - 1])..<ends[index]] }
}

extension [ScalarRun] {
  /// The value of the run that has a scalar; nil if none has. O(log count).
  func value(of scalar: UInt32) -> UInt32? {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle].scalars.upperBound <= scalar { low = middle + 1 } else { high = middle }
    }
    return low < count && self[low].scalars.contains(scalar) ? self[low].value : nil
  }
}
