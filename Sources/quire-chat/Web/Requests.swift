// Requests read and answers written as JSON.

#if Example
  import FlyingFox
  import Foundation

  extension HTTPRequest {
    /// The part of the path that says which room is meant.
    var room: String { routeParameters["room"] ?? "" }

    /// The body as JSON.
    ///
    /// - Throws: `ChatError.badRequest` if it is something else.
    func decoded<Value: Decodable>(_ type: Value.Type) async throws -> Value {
      let body = try await bodyData
      do { return try JSONDecoder().decode(type, from: body) } catch {
        throw ChatError.badRequest("The request is not what is expected here: \(error)")
      }
    }
  }

  extension HTTPResponse {
    /// An answer in JSON, with dates as milliseconds, as a browser has them.
    static func json(_ value: some Encodable, _ status: HTTPStatusCode = .ok) -> HTTPResponse {
      let encoder = JSONEncoder()
      encoder.dateEncodingStrategy = .millisecondsSince1970
      guard let body = try? encoder.encode(value) else { return HTTPResponse(statusCode: .internalServerError) }
      return HTTPResponse(statusCode: status, headers: [.contentType: "application/json"], body: body)
    }
  }
#endif
