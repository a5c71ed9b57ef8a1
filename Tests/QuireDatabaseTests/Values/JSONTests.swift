// Values as JSON, and JSON of any origin as values.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

@Suite struct JSONTests {
  @Test func valuesComeBackToTheBit() throws {
    var random = SeededRandom(seed: 28_000_002)
    for number in 0..<TestSize.trials(100_000) {
      var value = RowValue.random(&random)
      if random.oneIn(8) {
        value = ["at": .date(Date(timeIntervalSinceReferenceDate: Double(random.below(1 << 30)) / 8))]
      }
      let again = try RowValue(json: value.json)
      try #require(again == value, "value \(number): \(value.json)")
      // What others read of it is JSON, too.
      if number % 16 == 0 {
        _ = try JSONSerialization.jsonObject(with: Data(value.json.utf8), options: .fragmentsAllowed)
      }
    }
  }

  @Test func marksAreWrittenForWhatJSONLacks() {
    let value: RowValue = [
      "int": .integer(1 << 53), "beyond": .integer(1 << 53 + 1), "double": 1.0, "float": .float(0.1),
      "nan": .double(.nan), "data": .bytes([104, 105]), "at": .date(Date(timeIntervalSinceReferenceDate: 1.5)),
      "mark": ["$data": "x"], "text": "\"\\\n\u{1}é",
    ]
    #expect(
      value.json == #"{"int":9007199254740992,"beyond":{"$int":"9007199254740993"},"double":1.0,"#
        + #""float":{"$float":0.1},"nan":{"$double":"nan"},"data":{"$data":"aGk="},"at":{"$date":1.5},"#
        + #""mark":{"$record":{"$data":"x"}},"text":"\"\\\n\u0001é"}"#)
    #expect(RowValue.list([]).json == "[]" && RowValue.record([]).json == "{}" && RowValue.null.json == "null")
  }

  @Test(arguments: [
    #"{"$record":{"$record":{"$data":"aGk="}}}"#, #"{"$record":{"$record":{"a":1}}}"#,
    #"{"$record":{"$record":{"$record":{"$record":{"$data":"aGk="}}},"b":1}}"#,
  ])
  func marksOfMarks(text: String) throws {
    let value = try RowValue(json: text)
    #expect(value.json == text)
    #expect(value.kind == .record)
  }

  @Test func numbersKeepTheirDigits() throws {
    let read = try RowValue(
      json: " [0, -0, 170141183460469231731687303715884105727, 1e2, 1E-2, -0.0, 18446744073709551616,"
        + "340282366920938463463374607431768211455, 1234567890123456789012345678901234567890] ")
    #expect(
      read == [
        0, .double(-0.0), .integer(.max), 100.0, 0.01, .double(-0.0), .integer(1 << 64), .large(.max),
        .double(1_234_567_890_123_456_789_012_345_678_901_234_567_890.0),
      ])
  }

  @Test(arguments: [
    "", " ", "nul", "tru", "[1", "[1,]", "[,1]", "{", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, "{a:1}", "01", "-", "1.",
    "1e",
    ".5", "+1", "1 2", #""abc"#, "\"\u{1}\"", #""\x""#, #""\u12""#, #""\ud800""#, #""\ud800\u0041""#, #""\udc00""#,
    #"{"$data":1}"#, #"{"$data":"?"}"#, #"{"$int":"1.5"}"#, #"{"$uuid":"1"}"#, #"{"$what":1}"#, #"{"$double":"nan:0"}"#,
    #"{"$record":1}"#, #"{"$record":{},"b":1}"#, #"{"$int":"+5"}"#, #"{"$double":"nan:+7ff8000000000001"}"#, "1e999",
    "[1]]", "\u{feff}1", #""\u00zz""#,
  ])
  func whatIsNoneIsAnError(text: String) {
    let error = #expect(throws: JSONError.self) { _ = try RowValue(json: text) }
    #expect((error?.offset ?? -1) >= 0 && (error?.offset ?? .max) <= text.utf8.count)
    #expect("\(error.map { "\($0)" } ?? "")".contains("byte"))
  }

  @Test func whatIsNoUTF8IsAnError() {
    for bytes: [UInt8] in [[0x22, 0xff, 0x22], [0x22, 0xc3, 0x22], [0x22, 0x5c, 0x6e, 0x80, 0x22], [0xff]] {
      #expect(throws: JSONError.self) { _ = try RowValue(json: bytes) }
    }
  }

  /// What a row can hold comes back from JSON, with marks in the innermost places; a text that goes deeper ends.
  @Test func depthHasABound() throws {
    var value = RowValue.bytes([1])
    for number in 0..<511 { value = number % 2 == 0 ? .list([value]) : .record([RowValue.Field("$a", value)]) }
    #expect(try RowValue(json: value.json) == value)
    let deepest = String(repeating: "[", count: 1025) + String(repeating: "]", count: 1025)
    #expect(try RowValue(json: deepest).json == deepest)
    for count in [1026, 1_000_000] {
      let closed = String(repeating: "[", count: count) + String(repeating: "]", count: count)
      #expect(throws: JSONError.self) { _ = try RowValue(json: closed) }
      #expect(throws: JSONError.self) { _ = try RowValue(json: String(repeating: #"{"a":"#, count: count)) }
    }
  }

  /// The shortest digits of some are in the middle of two when they are read as a Double.
  @Test func floatsOfAnyBitsComeBack() throws {
    var random = SeededRandom(seed: 28_000_004)
    let drawn = (0..<TestSize.trials(100_000)).map { _ in UInt32(truncatingIfNeeded: random.next()) }
    for bits in [0x15ae_43fd] + drawn {
      let value = RowValue.float(Float(bitPattern: bits))
      try #require(try RowValue(json: value.json) == value, "bits \(bits)")
    }
  }

  @Test func brokenTextsNeverTrap() throws {
    var random = SeededRandom(seed: 28_000_003)
    var (good, bad) = (0, 0)
    for _ in 0..<TestSize.trials(40_000) {
      var bytes = Array(RowValue.random(&random).json.utf8)
      for _ in 0...random.below(3) {
        let place = random.below(bytes.count + 1)
        if random.oneIn(2), place < bytes.count {
          bytes[place] = UInt8(truncatingIfNeeded: random.next())
        } else {
          bytes.insert(random.pick(Array("[]{}\",:\\u0-e$".utf8)), at: place)
        }
      }
      do {
        let value = try RowValue(json: bytes)
        try #require(try RowValue(json: value.json) == value)
        good += 1
      } catch is JSONError {
        bad += 1
      }
    }
    #expect(good > 0 && bad > 0)
  }
}
