// Texts of values, as PostgreSQL reads them.

#if Postgres
  /// Times.
  enum PostgresTime {
    /// A time as `2001-01-01 00:00:00.000000+00`, in the calendar that PostgreSQL counts in; `infinity` and such for
    /// what is none; a NaN is refused.
    static func text(_ seconds: Double) -> String {
      if seconds.isNaN { return "NaN" }
      guard seconds.isFinite else { return seconds > 0 ? "infinity" : "-infinity" }
      // Beyond these PostgreSQL refuses a time; the bounds keep the whole numbers below.
      guard abs(seconds) < 9e12 else { return seconds > 0 ? "300000-01-01" : "300000-01-01 BC" }
      let microseconds = Int64((seconds * 1e6).rounded())
      let dayLength: Int64 = 86_400_000_000
      let day = floor(microseconds, dayLength)
      let inDay = microseconds - day * dayLength
      let (year, month, dayOfMonth) = civil(day)
      let whole = inDay / 1_000_000
      let isBefore = year <= 0
      let date = "\(padded(isBefore ? 1 - year : year, 4))-\(padded(month, 2))-\(padded(dayOfMonth, 2))"
      let time = "\(padded(whole / 3600, 2)):\(padded(whole / 60 % 60, 2)):\(padded(whole % 60, 2))"
      return "\(date) \(time).\(padded(inDay % 1_000_000, 6))+00\(isBefore ? " BC" : "")"
    }

    /// The date of a day since 1970, by the Gregorian rules at all times. Years count on through 0.
    private static func civil(_ day: Int64) -> (year: Int64, month: Int64, day: Int64) {
      // From 1 March of the year 0 on, a leap day is the last of its year.
      let shifted = day + 719_468
      let era = floor(shifted, 146_097)
      let dayOfEra = shifted - era * 146_097
      let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
      let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
      let place = (5 * dayOfYear + 2) / 153
      let month = place < 10 ? place + 3 : place - 9
      return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * place + 2) / 5 + 1)
    }

    private static func floor(_ value: Int64, _ divisor: Int64) -> Int64 {
      let quotient = value / divisor
      return value % divisor < 0 ? quotient - 1 : quotient
    }

    private static func padded(_ value: Int64, _ count: Int) -> String {
      let digits = String(value)
      return String(repeating: "0", count: max(0, count - digits.utf8.count)) + digits
    }
  }

  /// Bytes as digits.
  enum Hexadecimal {
    /// Two digits for each byte.
    static func text(_ bytes: some Sequence<UInt8>) -> String {
      let digits = Array("0123456789abcdef".utf8)
      var text: [UInt8] = []
      for byte in bytes {
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 15)])
      }
      return String(decoding: text, as: UTF8.self)
    }

    /// The bytes of such digits; nil if they are none.
    static func bytes(_ text: Substring) -> [UInt8]? {
      var bytes: [UInt8] = []
      bytes.reserveCapacity(text.utf8.count / 2)
      var high: UInt8?
      for character in text.utf8 {
        guard let digit = digit(character) else { return nil }
        if let first = high { bytes.append(first << 4 | digit) }
        high = high == nil ? digit : nil
      }
      return high == nil ? bytes : nil
    }

    private static func digit(_ character: UInt8) -> UInt8? {
      switch character {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
      default: nil
      }
    }
  }
#endif
