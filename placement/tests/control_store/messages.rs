//! Messages as bytes.

use apportion_placement::control::{
    EXPLANATION_MAX, MESSAGE_MAX, MessageError, MessageProblem, NAMESPACE, PARAMETERS_DEPTH_MAX,
    PlacementRequest, PlacementResponse, StatusCode, UnknownStatusCode, request_key, response_key,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{TestResult, accepted, full, plain, uuid};

const UUID: &str = "00000000-0000-0000-0000-000000000007";

fn wire() -> Value {
    json!({
        "subType": "ContainerPlacementRequestMessage", "uuid": UUID, "deploymentId": "app-1", "processorId": "0",
        "destinationHost": "host-2", "statusCode": "CREATED", "timestamp": 5, "requestExpiry": 30_000,
    })
}

/// Reads the message with one field changed.
fn changed(field: &str, value: Value) -> Result<PlacementRequest, MessageError> {
    let mut message = wire();
    message[field] = value;
    PlacementRequest::read(message.to_string().as_bytes())
}

fn problem(field: &str, value: Value) -> String {
    let error = changed(field, value).expect_err("it is wrong");
    assert_eq!(error.uuid, (field != "uuid").then(|| uuid(7)), "{error}");
    error.problem.to_string()
}

#[test]
fn a_request_is_written_with_samzas_fields() -> TestResult {
    let mut request = plain(7, 5);
    request.request_expiry_ms = Some(30_000);
    assert_eq!(serde_json::from_slice::<Value>(&request.write()?)?, wire());
    let mut expected = wire();
    let fields = expected.as_object_mut().expect("an object");
    fields.remove("requestExpiry");
    assert_eq!(serde_json::from_slice::<Value>(&plain(7, 5).write()?)?, expected);
    let response = plain(7, 4).answer(StatusCode::Succeeded, "there", 5);
    expected["subType"] = "ContainerPlacementResponseMessage".into();
    expected["statusCode"] = "SUCCEEDED".into();
    expected["responseMessage"] = "there".into();
    assert_eq!(serde_json::from_slice::<Value>(&response.write()?)?, expected);
    assert_eq!(NAMESPACE, "samza-place-container-v1");
    assert_eq!(request_key(uuid(7)), format!("{UUID}.ContainerPlacementRequestMessage"));
    assert_eq!(response_key(uuid(7)), format!("{UUID}.ContainerPlacementResponseMessage"));
    Ok(())
}

#[test]
fn written_messages_are_read_again() -> TestResult {
    for request in [plain(1, 0), full(2, i64::MAX.unsigned_abs())] {
        assert_eq!(PlacementRequest::read(&request.write()?)?, request);
        let response = request.answer(StatusCode::Failed, "", 3);
        assert_eq!(PlacementResponse::read(&response.write()?)?, response);
    }
    Ok(())
}

#[test]
fn the_status_of_a_request_and_unknown_fields_are_passed_over() -> TestResult {
    let expected = PlacementRequest { request_expiry_ms: Some(30_000), ..plain(7, 5) };
    for (field, value) in
        [("statusCode", json!("SUCCEEDED")), ("statusCode", json!(3)), ("color", json!({"r": 1}))]
    {
        assert_eq!(changed(field, value)?, expected);
    }
    for field in ["action", "parameters", "principal"] {
        assert_eq!(changed(field, Value::Null)?, expected);
    }
    assert_eq!(changed("requestExpiry", Value::Null)?, plain(7, 5));
    let mut message = wire();
    message.as_object_mut().expect("an object").remove("statusCode");
    assert_eq!(PlacementRequest::read(message.to_string().as_bytes())?, expected);
    Ok(())
}

#[test]
fn a_field_that_is_missing_is_named() {
    for field in ["subType", "uuid", "deploymentId", "processorId", "destinationHost", "timestamp"] {
        let mut message = wire();
        message.as_object_mut().expect("an object").remove(field);
        let error = PlacementRequest::read(message.to_string().as_bytes()).expect_err("it is wrong");
        assert!(error.to_string().contains(&format!("the field `{field}` is missing")), "{error}");
        assert_eq!(error.uuid, (field != "uuid").then(|| uuid(7)));
        assert!(problem(field, Value::Null).contains(&format!("the field `{field}` is null")));
        assert!(problem(field, json!([1])).contains(&format!("the field `{field}` is a list")));
    }
    for field in ["statusCode", "responseMessage"] {
        let bytes = accepted(&plain(7, 5)).write().expect("it can be written");
        let mut message: Value = serde_json::from_slice(&bytes).expect("JSON");
        message.as_object_mut().expect("an object").remove(field);
        let error = PlacementResponse::read(message.to_string().as_bytes()).expect_err("it is wrong");
        assert!(error.to_string().contains(&format!("the field `{field}` is missing")), "{error}");
    }
}

#[test]
fn errors_name_the_fault_and_the_valid_form() {
    let sub_type = problem("subType", json!("ContainerPlacementResponseMessage"));
    assert_eq!(
        sub_type,
        "`subType` is `ContainerPlacementResponseMessage`; here only `ContainerPlacementRequestMessage` can be read"
    );
    for expiry in [0, -1, i64::MIN] {
        assert_eq!(
            problem("requestExpiry", json!(expiry)),
            format!("`requestExpiry` is {expiry}; it is a number of milliseconds from 1 on, or is left out")
        );
    }
    assert!(problem("timestamp", json!(-7)).starts_with("`timestamp` is -7;"));
    for (value, found) in
        [(json!(1.5), "number 1.5"), (json!(u64::MAX), "18446744073709551615"), (json!("5"), "text `5`")]
    {
        assert!(problem("timestamp", value).contains(found));
    }
    assert!(problem("uuid", json!("7")).contains("the field `uuid` is the text `7`; it should be a UUID"));
    assert!(problem("uuid", json!("00000000000000000000000000000007")).contains("with hyphens"));
    assert!(problem("parameters", json!("x")).contains("it should be a JSON object"));
    assert!(problem("action", json!(1)).contains("the field `action` is the number 1; it should be a text"));
    assert_eq!(
        problem("processorId", "x".repeat(257).into()),
        "the text in `processorId` has 257 bytes; 256 are allowed"
    );
    assert_eq!(
        problem("destinationHost", "x".repeat(254).into()),
        "the text in `destinationHost` has 254 bytes; 253 are allowed"
    );
    assert!(problem("subType", "x".repeat(1_000).into()).len() < 200, "a long value is truncated");
}

#[test]
fn bytes_that_are_no_json_object_are_refused() {
    let of = |bytes: &[u8]| PlacementRequest::read(bytes).expect_err("it is wrong");
    assert_eq!(of(b"\xc3\xa4\xff").problem, MessageProblem::NotUtf8 { byte: 2 });
    assert_eq!(of(b"[]").problem, MessageProblem::NotAnObject { found: "a list" });
    assert_eq!(of(b"null").problem, MessageProblem::NotAnObject { found: "null" });
    for bytes in [&b""[..], b"{", b"{\n\"a\":}", b"{} {}", b"\0", "[".repeat(1_000).as_bytes()] {
        let error = of(bytes);
        assert!(matches!(error.problem, MessageProblem::NotJson { .. }), "{error}");
        assert!(error.to_string().contains("not JSON at line") && error.uuid.is_none(), "{error}");
    }
    let long = vec![b' '; MESSAGE_MAX + 1];
    assert_eq!(of(&long).problem, MessageProblem::MessageTooLong { bytes: 65_537, max: MESSAGE_MAX });
}

#[test]
fn an_unreadable_message_is_not_written() {
    let mut deep = json!(1);
    (0..40).for_each(|_| deep = json!([deep]));
    type Spoil = fn(&mut PlacementRequest, Value);
    let spoilt: [(Spoil, &str); 7] = [
        (|request, _| request.destination_host = "x".repeat(1 << 20), "destinationHost"),
        (|request, _| request.deployment_id = "x".repeat(257), "deploymentId"),
        (|request, _| request.principal = Some("x".repeat(257)), "principal"),
        (|request, _| request.request_expiry_ms = Some(0), "requestExpiry"),
        (|request, _| request.timestamp_ms = u64::MAX, "timestamp"),
        (|request, _| drop(request.parameters.insert("a".into(), "x".repeat(20_000).into())), "parameters"),
        (|request, deep| drop(request.parameters.insert("a".into(), deep)), "levels"),
    ];
    for (spoil, word) in spoilt {
        let mut request = plain(7, 5);
        spoil(&mut request, deep.clone());
        let error = request.write().expect_err("it is wrong");
        assert!(error.to_string().contains(word) && error.uuid == Some(uuid(7)), "{error}");
    }
}

#[test]
fn parameters_have_a_maximal_depth() -> TestResult {
    let nested = |levels: usize, wrap: fn(Value) -> Value| (1..levels).fold(json!(1), |inner, _| wrap(inner));
    for wrap in [(|inner| json!([0, inner])) as fn(Value) -> Value, |inner| json!({ "b": inner })] {
        let mut request = plain(7, 5);
        request.parameters.insert("a".to_owned(), nested(PARAMETERS_DEPTH_MAX, wrap));
        assert_eq!(PlacementRequest::read(&request.write()?)?, request);
        request.parameters.insert("a".to_owned(), nested(PARAMETERS_DEPTH_MAX + 1, wrap));
        let error = request.write().expect_err("too deep");
        assert_eq!(error.problem, MessageProblem::TooDeep { max: PARAMETERS_DEPTH_MAX });
    }
    Ok(())
}

#[test]
fn a_request_that_can_be_written_can_be_answered() -> TestResult {
    let worst = |bytes: usize| "\u{1}".repeat(bytes);
    let mut request = full(7, 5);
    (request.deployment_id, request.processor_id) = (worst(256), worst(256));
    (request.destination_host, request.action, request.principal) =
        (worst(253), Some(worst(256)), Some(worst(256)));
    request.parameters.clear();
    request.parameters.insert("a".to_owned(), worst(2_729).into());
    request.write()?;
    let response = request.answer(StatusCode::InProgress, &worst(100_000), i64::MAX.unsigned_abs());
    assert_eq!(response.response_message.len(), EXPLANATION_MAX);
    assert_eq!(PlacementResponse::read(&response.write()?)?, response);
    let cut = request.answer(StatusCode::Failed, &"ä€".repeat(2_000), 5);
    assert!(cut.response_message.len() > EXPLANATION_MAX - 4);
    Ok(())
}

#[test]
fn statuses_have_words_and_numbers() {
    use StatusCode::{Accepted, Cancelled, Created, InProgress};
    let numbers = [202, 400, 401, 409, 202, 202, 200, 500, 410];
    for (code, number) in StatusCode::ALL.into_iter().zip(numbers) {
        assert_eq!(code.to_string().parse(), Ok(code));
        assert_eq!(json!(code), json!(code.word()));
        assert_eq!(code.http(), number, "{code}");
        assert_eq!(code.is_terminal(), ![Created, Accepted, InProgress].contains(&code), "{code}");
    }
    assert_eq!(format!("{Cancelled:>10}"), " CANCELLED");
    let unknown = "accepted".parse::<StatusCode>();
    assert_eq!(unknown, Err(UnknownStatusCode { word: "accepted".to_owned() }));
}

proptest! {
    #[test]
    fn every_readable_message_can_be_written_and_read_again(
        field in prop::sample::select(vec!["subType", "uuid", "processorId", "requestExpiry", "timestamp", "parameters"]),
        value in prop_oneof![
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "\\PC{0,300}".prop_map(Value::from),
            prop::collection::btree_map(".{0,3}", any::<f64>(), 0..3).prop_map(|map| json!(map)),
        ],
    ) {
        if let Ok(request) = changed(field, value) {
            let bytes = request.write()?;
            prop_assert_eq!(PlacementRequest::read(&bytes)?, request);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0..400_usize) {
        let _ = PlacementRequest::read(&bytes);
        let message = wire().to_string();
        let cut = message.floor_char_boundary(cut);
        prop_assert_eq!(PlacementRequest::read(&message.as_bytes()[..cut]).is_ok(), cut == message.len());
    }
}
